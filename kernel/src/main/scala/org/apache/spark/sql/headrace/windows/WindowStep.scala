package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event}
import org.apache.spark.sql.{Dataset, Row}

/** A windowed step, ready to run: its columns, aggregates and declaration. */
final case class WindowStep(layout: WindowLayout, aggregates: Aggregates, keys: Seq[Attribute], spec: WindowingSpec) extends Serializable {
  /** Whether results depend on the order in which rows are taken. */
  @transient lazy val ordered: Boolean = spec.ordered || !aggregates.commutative

  /** The events of a batch's rows of one key. */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = layout.arrived(rows, ordered).map(layout.event)

  /**
   * The same step over other columns: all that it looks at are among them, and those it has are in the same order
   * where both have them.
   */
  def over(columns: Seq[Attribute]): WindowStep = copy(layout = layout.over(columns), aggregates = aggregates.withInput(columns))

  /** Whether windows share slices of time; the order in which rows came is lost there. */
  def slices: Boolean = spec.shares && aggregates.commutative

  /** Whether each window is visited at times that follow from its bounds. */
  def visitsByTime: Boolean = !spec.byClock && spec.ttl == 0 && !slices && WindowGrid.of(spec.kind).isDefined

  /** Whether rows of one key and slice of time may come as one. */
  @transient lazy val combines: Boolean =
    WindowGrid.of(spec.kind).isDefined && !spec.clockTime && !ordered && spec.takesAll && aggregates.fixedSize

  def logic(counts: Counts): WindowLogic = WindowLogic(spec, aggregates, counts, layout)
}

object WindowStep {
  /**
   * Reads a step from what Spark analysed.
   *
   * @param frame the input, with Headrace's own columns
   * @param grouped `frame` grouped by the key's columns and aggregated: only its plan is looked at
   * @param text the declaration, as JSON
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
    val named = aggregate.aggregateExpressions.drop(keys.size)
    val results = replaced(aggregate).aggregateExpressions.drop(keys.size).map {
      case a: Alias => a.child
      case other => other
    }.map(inlined)
    refusePython(results)
    val spec = WindowingSpec.parse(text)
    WindowStep(
      new WindowLayout(input, keys, named.map(_.name), results.map(_.dataType), spec.kind),
      Aggregates.of(results, input, keys), keys, spec)
  }

  private[windows] def plan(frame: Dataset[Row]): LogicalPlan =
    frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed

  private def replaced(aggregate: Aggregate): Aggregate = ReplaceExpressions(aggregate).asInstanceOf[Aggregate]

  /** Without expressions that name another's value, which only Spark's planner can resolve. */
  private def inlined(e: Expression): Expression = e.transformUp {
    case With(child, definitions) =>
      child.transform { case ref: CommonExpressionRef => definitions.find(_.id == ref.id).get.child }
  }

  private def refusePython(results: Seq[Expression]): Unit = results.flatMap(_.collect {
    case p: PythonUDF => p
  }).headOption.foreach { p =>
    throw new IllegalArgumentException(s"${p.name} is a Python function: the kernel runs Spark's own aggregates")
  }
}
