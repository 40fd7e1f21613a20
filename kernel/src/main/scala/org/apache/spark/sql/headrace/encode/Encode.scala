package org.apache.spark.sql.headrace.encode

import java.util.{Collections, WeakHashMap}

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, UnaryExpression}
import org.apache.spark.sql.headrace.compat.SparkApi
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}
import org.apache.spark.sql.{classic, SparkSession, SparkSessionExtensions}

/** Encodes a struct as the bytes of a record. */
case class Encode(child: Expression, format: String, options: String) extends UnaryExpression {
  @transient private lazy val encoder =
    RecordEncoder(format, child.dataType.asInstanceOf[StructType], options)
  override def dataType: DataType = BinaryType
  override def nullIntolerant: Boolean = true
  override def prettyName: String = s"encode_$format"
  override def toString: String = s"$prettyName($child)"
  override def sql: String = s"$prettyName(${child.sql})"
  override protected def nullSafeEval(row: Any): Any = encode(row.asInstanceOf[InternalRow])

  /** Called by generated code for each row. */
  def encode(row: InternalRow): Array[Byte] = encoder.encode(row)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("encode", this, classOf[Encode].getName)
    defineCodeGen(ctx, ev, row => s"$self.encode($row)")
  }
  override protected def withNewChildInternal(child: Expression): Encode = copy(child = child)
}

/** Encodes a row in a format. One instance per task and thread. */
trait RecordEncoder {
  /** @throws EncodeFailure if a value cannot be written */
  def encode(row: InternalRow): Array[Byte]
}

object RecordEncoder {
  def apply(format: String, schema: StructType, options: String): RecordEncoder = format match {
    case "avro" => AvroEncoder(schema, options)
    case "protobuf" => ProtobufEncoder(schema, options)
    case other => throw new IllegalArgumentException(s"there is no encoder for the format `$other`")
  }
}

/** A value of a row cannot be written. */
final class EncodeFailure(path: String, what: String) extends SparkException(s"column `$path`: $what")

object Encode {
  private val Name = SparkApi.builtinFunction("headrace_encode")
  private val info = new ExpressionInfo(classOf[Encode].getName, Name.funcName)
  private val builder: FunctionBuilder = { case Seq(format, options, row) =>
    Encode(row, format.eval().toString, options.eval().toString)
  }
  private val prepared = Collections.newSetFromMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean])

  /** Adds the SQL function `headrace_encode(format, options, struct)` to a session and its clones. */
  def prepare(spark: SparkSession): Unit = synchronized {
    val session = spark.asInstanceOf[classic.SparkSession]
    if (prepared.add(session.extensions)) session.extensions.injectFunction((Name, info, builder))
    session.sessionState.functionRegistry.registerFunction(Name, info, builder)
  }
}
