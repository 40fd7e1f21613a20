package org.apache.spark.sql.headrace.joins

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, KeyedStep, StepOutput, StepColumns}
import org.apache.spark.sql.headrace.operators.{Counts, OperatorPlan, PairCondition, StepTime}
import org.apache.spark.sql.types._

/**
 * A join of two streams.
 *
 * @param condition the extra condition over the bound columns `left` and `right`; None for all pairs
 */
final class JoinStep(val spec: JoinSpec, val columns: StepColumns, condition: Option[Expression])
    extends KeyedStep {
  override def time: StepTime.Value = StepTime.of(spec.clockTime)
  override def variable: String = "rows"
  override def dueByTime: Boolean = !spec.clockTime

  override def logic(counts: Counts): KeyedLogic = spec.scope match {
    case interval: Interval => new IntervalJoin(interval, spec, new Pairs(columns, condition), counts)
    case window: SameWindow => new WindowJoin(window, spec, new Pairs(columns, condition), counts)
  }
}

object JoinStep {
  /**
   * Creates a step.
   *
   * @param frame the rows of both sides: `left` and `right`, of which one is null, and internal columns
   * @param conditioned the extra condition as the only column over a frame of pairs; may be null
   * @param text the declaration as JSON
   */
  def apply(frame: Dataset[Row], conditioned: Dataset[Row], text: String): JoinStep = {
    val spec = JoinSpec.parse(text)
    val window = spec.scope match {
      case _: SameWindow => Seq(StructField("window", StepColumns.Bounds))
      case _ => Nil
    }
    new JoinStep(spec, Pairs.columns(frame, spec.keys, window), PairCondition.bind(conditioned))
  }
}

/** Tests and emits pairs of rows; for one task. */
final class Pairs(columns: StepColumns, condition: Option[Expression]) {
  private val Seq(left, right) = Pairs.sides(columns.input)
  private val widths = Array(left, right).map(columns.input(_).dataType.asInstanceOf[StructType].length)
  private val pairCondition = new PairCondition(condition)

  def sideOf(row: InternalRow): Int = if (row.isNullAt(left)) Side.Right else Side.Left

  /** The columns of one side of an input row. */
  def content(row: InternalRow, side: Int): UnsafeRow = row
    .getStruct(if (side == Side.Left) left else right, widths(side)).asInstanceOf[UnsafeRow]

  def width(side: Int): Int = widths(side)

  /** True if the extra condition holds; null is false. */
  def accepts(left: InternalRow, right: InternalRow): Boolean = pairCondition.accepts(left, right)

  /** Emits a pair, or one row and null. */
  def emit(left: InternalRow, right: InternalRow, time: Long, out: StepOutput): Unit = out
    .emit(0, new GenericInternalRow(Array[Any](left, right, time)))

  def emit(left: InternalRow, right: InternalRow, window: InternalRow, time: Long, out: StepOutput): Unit =
    out.emit(0, new GenericInternalRow(Array[Any](left, right, window, time)))
}

object Pairs {

  def sides(input: Seq[Attribute]): Seq[Int] = Seq("left", "right").map(n => input.indexWhere(_.name == n))

  /** The columns of a step whose results are pairs. */
  def columns(frame: Dataset[Row], keys: Seq[String], added: Seq[StructField] = Nil): StepColumns = {
    val input = OperatorPlan.planOf(frame).output
    val pair = sides(input).map(i => StructField(input(i).name, input(i).dataType))
    val main = StructType(pair ++ added).add("__ts", TimestampType)
    new StepColumns(input, Nil, keys, Seq("main" -> main))
  }
}
