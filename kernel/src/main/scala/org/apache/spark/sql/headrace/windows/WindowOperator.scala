package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.{Dataset, Row, classic}
import org.apache.spark.sql.headrace.operators.{Counts, KeyEncoder, OperatorPlan, StepTime}

/** Plans a windowed step over a stream. */
object WindowOperator {
  /** Session setting for virtual time: process every open window in every batch. */
  val Eager = "spark.headrace.windows.eager"

  /**
   * Plans a step; the output is tagged rows.
   *
   * @param frame the input with internal columns, with a watermark unless the step uses clock time
   * @param grouped the aggregates, as read by `WindowStep`
   * @param spec the declaration as JSON
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], spec: String, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val read = WindowStep(frame, grouped, spec)
    val eager = session.conf.get(Eager, "false").toBoolean
    val declared = read.copy(spec = read.spec.copy(eager = eager))
    val (step, child, renamed) = selectColumns(declared, OperatorPlan.analyzed(frame))
    val (keys, keyed) = OperatorPlan.withStateKeys(step.keys.map(k => renamed(k.exprId)), child)
    val processor = new WindowProcessor(step, KeyEncoder.encoder(keys), counts)
    val rows = if (step.preAggregates) preAggregate(session, step, keys, keyed) else keyed
    OperatorPlan.transform(session, processor, processor.encoder,
      StepTime.mode(StepTime.of(step.spec.byClock)), keys, rows, step.layout.output)
  }

  /** Selects the columns that the step needs, and adds those of `PreAggregate`. */
  private def selectColumns(
      step: WindowStep, plan: LogicalPlan): (WindowStep, LogicalPlan, Map[ExprId, Attribute]) = {
    val needed = plan.output.filter(a => step.ordered || a.name != "__position")
    val (child, renamed) = OperatorPlan.hideWatermark(Project(needed, plan))
    if (!step.preAggregates) (step.withInput(needed), child, renamed)
    else {
      val added = PreAggregate.columns
      (step.withInput(needed ++ added.map(_.toAttribute)), Project(child.output ++ added, child), renamed)
    }
  }

  private def preAggregate(session: classic.SparkSession, step: WindowStep, keys: Seq[Attribute],
      child: LogicalPlan): LogicalPlan = {
    OperatorPlan.addStrategy(session, PreAggregate.Planned)
    PreAggregate(step, keys, child)
  }
}
