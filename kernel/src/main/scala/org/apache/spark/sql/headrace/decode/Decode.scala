package org.apache.spark.sql.headrace.decode

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.SparkException
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic}
import org.apache.spark.sql.catalyst.trees.TernaryLike
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.headrace.decode.registry.RegistryFailure
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * How the records of a source are decoded, and the policy for errors.
 *
 * @param options of the format, as JSON; they may hold a password, so they are not printed
 */
final case class DecodeSpec(format: String, schema: StructType, options: String, policy: String,
    source: String) {
  override def toString: String = format
}

/**
 * Decodes the bytes of a record to a struct; null on an error unless the policy is to fail.
 *
 * Non-deterministic because it collects dead letters: Spark then evaluates it once per row, in place.
 */
case class Decode(value: Expression, partition: Expression, position: Expression, spec: DecodeSpec,
    collector: DeadLetterCollector)
    extends Expression with TernaryLike[Expression] with Nondeterministic {
  @transient private lazy val decoder = RecordDecoder(spec.format, spec.schema, spec.options)
  override def first: Expression = value
  override def second: Expression = partition
  override def third: Expression = position
  override def dataType: DataType = spec.schema
  override def nullable: Boolean = true
  override def prettyName: String = s"decode_${spec.format}"
  override def toString: String = s"$prettyName($value)"
  override def sql: String = s"$prettyName(${value.sql})"
  override protected def initializeInternal(partitionIndex: Int): Unit = decoder.restart()

  override protected def evalInternal(input: InternalRow): Any = decode(
    value.eval(input).asInstanceOf[Array[Byte]], partition.eval(input).asInstanceOf[UTF8String],
    Option(position.eval(input)).fold(Decode.NoPosition)(_.asInstanceOf[Long]))

  /** Called by generated code for each record. */
  def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow =
    try {
      if (bytes == null) throw DecodeError.record("expected a record, got null")
      decoder.decode(bytes, partition, position)
    } catch {
      case error: DecodeError =>
        val place = if (position == Decode.NoPosition) null else Long.box(position)
        divert(bytes, error, if (partition == null) null else partition.toString, place)
        null
      case failure: RegistryFailure => throw new ServerFailure(spec.source, failure.reason, failure.hint)
    }

  def restart(): Unit = decoder.restart()

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("decode", this, classOf[Decode].getName)
    ctx.addPartitionInitializationStatement(s"$self.restart();")
    val (v, p, o) = (value.genCode(ctx), partition.genCode(ctx), position.genCode(ctx))
    ev.copy(code = code"""
      ${v.code}
      ${p.code}
      ${o.code}
      InternalRow ${ev.value} = $self.decode(
        ${v.isNull} ? null : ${v.value},
        ${p.isNull} ? null : ${p.value},
        ${o.isNull} ? ${Decode.NoPosition}L : ${o.value});
      boolean ${ev.isNull} = ${ev.value} == null;""")
  }

  private def divert(
      bytes: Array[Byte], why: DecodeError, partition: String, position: java.lang.Long): Unit =
    spec.policy match {
      case "fail" => throw new DecodeFailure(spec.source, partition, position, why.reason)
      case "divert" =>
        val raw = if (bytes == null) Array.emptyByteArray else bytes.clone()
        collector.add(DeadLetter(raw, why.reason, why.field, partition, position, now))
      case _ => collector.add(DeadLetter(Array.emptyByteArray, "", null, partition, position, now))
    }

  private def now: Long = System.currentTimeMillis() * 1000L

  override protected def withNewChildrenInternal(
      first: Expression, second: Expression, third: Expression): Decode =
    copy(value = first, partition = second, position = third)
}

/** A record could not be decoded and the policy is to fail. Python finds it by its class name. */
final class DecodeFailure(source: String, partition: String, position: java.lang.Long, reason: String)
    extends SparkException(s"source `$source`, partition $partition, position $position: $reason")

/** A server that decoding needs is unavailable. Python reads the message (`retry.find_problem`). */
final class ServerFailure(source: String, reason: String, hint: String) extends SparkException(
      s"server error: ${ServerFailure.json.writeValueAsString(Array(source, reason, hint))}")

object ServerFailure {
  private lazy val json = new ObjectMapper
}

object Decode {
  private val NoPosition = -1L

  /** The column that decodes `value`. Called from Python. */
  def column(format: String, schemaDdl: String, optionsJson: String, policy: String,
      collector: DeadLetterCollector, value: Column, partition: Column, position: Column): Column = {
    val schema = StructType.fromDDL(schemaDdl)
    val spec = DecodeSpec(format, schema, optionsJson, policy, collector.source)
    ExpressionUtils.column(Decode(ExpressionUtils.expression(value), ExpressionUtils.expression(partition),
        ExpressionUtils.expression(position), spec, collector))
  }
}
