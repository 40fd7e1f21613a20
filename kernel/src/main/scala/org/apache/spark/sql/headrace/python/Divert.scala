package org.apache.spark.sql.headrace.python

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.trees.TernaryLike
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.headrace.decode.{DeadLetter, DeadLetterCollector}
import org.apache.spark.sql.types.{BooleanType, DataType}

/**
 * True for a row whose user code succeeded. A row with a dead letter adds it to the collector and is false.
 *
 * Non-deterministic because it collects: Spark then evaluates it once per row, in place.
 *
 * @param payload the dead letter as Python has encoded it; null if there is none
 * @param partition together with `position`, by which a dead letter that a task adds twice is recognised
 */
case class Divert(payload: Expression, partition: Expression, position: Expression,
    collector: DeadLetterCollector)
    extends Expression with TernaryLike[Expression] with Nondeterministic with CodegenFallback {
  override def first: Expression = payload
  override def second: Expression = partition
  override def third: Expression = position
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "divert_dead_letters"
  override def toString: String = s"$prettyName($payload)"
  override def sql: String = s"$prettyName(${payload.sql})"
  override protected def initializeInternal(partitionIndex: Int): Unit = ()

  override protected def evalInternal(input: InternalRow): Any = {
    val letter = payload.eval(input).asInstanceOf[Array[Byte]]
    if (letter != null) collector.add(DeadLetter(
        letter.clone(), "", null, Option(partition.eval(input)).map(_.toString).orNull,
        Option(position.eval(input)).map(offset => Long.box(offset.asInstanceOf[Long])).orNull, 0L))
    letter == null
  }

  override protected def withNewChildrenInternal(
      first: Expression, second: Expression, third: Expression): Divert =
    copy(payload = first, partition = second, position = third)
}

object Divert {
  /** The condition that keeps rows without a dead letter. Called from Python. */
  def column(collector: DeadLetterCollector, payload: Column, partition: Column, position: Column): Column =
    ExpressionUtils.column(Divert(ExpressionUtils.expression(payload), ExpressionUtils.expression(partition),
        ExpressionUtils.expression(position), collector))
}
