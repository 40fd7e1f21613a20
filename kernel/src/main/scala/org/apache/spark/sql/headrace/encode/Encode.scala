package org.apache.spark.sql.headrace.encode

import scala.util.control.NoStackTrace

import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.classic
import org.apache.spark.sql.types.{BinaryType, DataType, StructType}

/** Encodes one row as a record. One instance per task and thread. */
trait RecordEncoder {
  /** @throws EncodeError if a value of the row does not fit the format */
  def encode(row: InternalRow): Array[Byte]
}

object RecordEncoder {
  /** Creates the encoder of a format. */
  def apply(format: String, schema: StructType, options: String): RecordEncoder = format match {
    case "protobuf" => new ProtobufEncoder(schema, options)
    case other => throw new IllegalArgumentException(s"there is no encoder for the format `$other`")
  }
}

/** The reason why a row cannot be encoded. */
final class EncodeError(path: String, what: String)
    extends RuntimeException(s"column `$path`: $what") with NoStackTrace

/** A row could not be encoded. Python finds it by its class name. */
final class EncodeFailure(sink: String, reason: String) extends SparkException(s"sink `$sink`: $reason")

/** Encodes a struct to the bytes of a record: `headrace_encode(struct, format, options, sink)` in SQL. */
case class Encode(child: Expression, format: String, options: String, sink: String) extends UnaryExpression {
  @transient private lazy val encoder =
    RecordEncoder(format, child.dataType.asInstanceOf[StructType], options)
  override def dataType: DataType = BinaryType
  override def nullIntolerant: Boolean = true
  override def prettyName: String = s"encode_$format"
  override def toString: String = s"$prettyName($child)"
  override def sql: String = s"$prettyName(${child.sql})"

  override protected def nullSafeEval(row: Any): Any = encode(row.asInstanceOf[InternalRow])

  /** Called by generated code for each row. */
  def encode(row: InternalRow): Array[Byte] =
    try encoder.encode(row)
    catch { case error: EncodeError => throw new EncodeFailure(sink, error.getMessage) }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("encode", this, classOf[Encode].getName)
    nullSafeCodeGen(ctx, ev, row => s"${ev.value} = $self.encode($row);")
  }

  override protected def withNewChildInternal(newChild: Expression): Encode = copy(child = newChild)
}

object Encode {
  private val Function = "headrace_encode"

  /** Makes the function known to a session and the sessions cloned from it. Called from Python. */
  def register(session: SparkSession): Unit = session.asInstanceOf[classic.SparkSession].sessionState
    .functionRegistry.createOrReplaceTempFunction(Function, build, "scala_udf")

  private def build(arguments: Seq[Expression]): Expression = {
    val Seq(format, options, sink) = arguments.tail.map(_.eval().toString)
    Encode(arguments.head, format, options, sink)
  }
}
