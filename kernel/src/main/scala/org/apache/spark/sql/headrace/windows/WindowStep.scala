package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, OperatorPlan}
import org.apache.spark.sql.{Dataset, Row}

/** A windowed step: columns, aggregates and declaration. */
final case class WindowStep(layout: WindowLayout, aggregates: Aggregates, keys: Seq[Attribute],
    spec: WindowingSpec)
    extends Serializable {
  /** True if results depend on the order of rows. */
  @transient lazy val ordered: Boolean = spec.ordered || !aggregates.commutative

  /** Events of a key in one micro-batch. */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = layout.inArrivalOrder(rows, ordered)
    .map(layout.event)

  /** Returns this step over other columns, which include all referenced ones in the same order. */
  def withInput(columns: Seq[Attribute]): WindowStep =
    copy(layout = layout.withInput(columns), aggregates = aggregates.withInput(columns))

  /** True if overlapping windows share slices. */
  def slices: Boolean = spec.sharesSlices && aggregates.commutative

  /** True if windows are processed only at times that follow from their bounds. */
  def dueByTime: Boolean = !spec.byClock && spec.ttl == 0 && !slices && WindowGrid.of(spec.kind).isDefined

  /** True if rows of one key and slice may be pre-aggregated. */
  @transient lazy val preAggregates: Boolean = WindowGrid.of(spec.kind).isDefined && !spec.clockTime &&
    !ordered && spec.takesAll && aggregates.fixedSize

  def logic(counts: Counts): WindowLogic = WindowLogic(spec, aggregates, counts, layout)
}

object WindowStep {
  /**
   * Creates a step from analysed plans.
   *
   * @param frame the input, with internal columns
   * @param grouped `frame` grouped by key and aggregated; only its plan is used
   * @param text the declaration as JSON
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], text: String): WindowStep = {
    val input = plan(frame).output
    val aggregate = plan(grouped) match {
      case a: Aggregate if a.child.output.map(_.exprId) == input.map(_.exprId) => a
      case _ => throw new IllegalArgumentException(
          "expected aggregates of rows, got one that needs a step of its own (an OVER clause); compute it after the window")
    }
    val keys = aggregate.groupingExpressions.map {
      case a: Attribute => input.find(_.exprId == a.exprId).get
      case other => throw new IllegalArgumentException(s"a key must be a column here, got ${other.sql}")
    }
    val columns = aggregate.aggregateExpressions.drop(keys.size)
    val results = replaceExpressions(aggregate).aggregateExpressions.drop(keys.size).map {
      case a: Alias => a.child
      case other => other
    }.map(OperatorPlan.inlineCommonExpressions)
    rejectPython(results)
    val spec = WindowingSpec.parse(text)
    WindowStep(new WindowLayout(input, keys, columns.map(_.name), results.map(_.dataType), spec.kind),
      Aggregates.of(results, input, keys), keys, spec)
  }

  private[windows] def plan(frame: Dataset[Row]): LogicalPlan = OperatorPlan.analyzed(frame)
  private def replaceExpressions(aggregate: Aggregate): Aggregate = ReplaceExpressions(aggregate)
    .asInstanceOf[Aggregate]
  private def rejectPython(results: Seq[Expression]): Unit = results.flatMap(_.collect { case p: PythonUDF =>
    p
  }).headOption.foreach { p =>
    throw new IllegalArgumentException(
      s"${p.name} is a Python function: the kernel runs Spark's own aggregates")
  }
}
