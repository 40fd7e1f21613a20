package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, GroupedPlan, OperatorPlan, Retractions}
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

  /** True if the state holds the rows of open sessions. */
  def keepsSessions: Boolean = layout.isChangelog && spec.kind.isInstanceOf[Session]

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
  /** The column with the number of rows that a pane over a changelog consists of; 0 if all were removed. */
  val Present = "__present"

  /**
   * Creates a step from analysed plans.
   *
   * @param frame the input, with internal columns
   * @param grouped `frame` grouped by key and aggregated; only its plan is used
   * @param text the declaration as JSON
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], text: String): WindowStep = {
    val spec = WindowingSpec.parse(text)
    val retracts =
      WindowGrid.of(spec.kind).isDefined // other windows take removed rows out of those they keep
    val read = GroupedPlan(frame, grouped, retracts)
    val present = if (retracts) Retractions.removes(read.input).map(Retractions.present).toSeq else Nil
    val whole = read
      .copy(names = read.names ++ present.map(_ => WindowStep.Present), results = read.results ++ present)
    WindowStep(new WindowLayout(read.input, read.keys, whole.names, whole.results.map(_.dataType), spec.kind),
      whole.aggregates, read.keys, spec)
  }

  private[windows] def plan(frame: Dataset[Row]): LogicalPlan = OperatorPlan.analyzed(frame)
}
