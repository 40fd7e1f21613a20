package org.apache.spark.sql.headrace.windows

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.{Counts, GroupByHash, KeyEncoder, OperatorPlan, RowCopy}
import org.apache.spark.sql.{Dataset, Row}

/** A windowed step as a node of a streaming plan. */
object WindowOperator {
  /** Setting of a session in virtual time: every open window is visited in every batch. */
  val Eager = "spark.headrace.windows.eager"

  private val timers =
    "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl"

  /** Two windows of a key may want the same moment; Spark warns of each second registration. */
  def quietTimers(): Unit = Configurator.setLevel(timers, Level.ERROR)

  /**
   * Tagged rows of a step over a stream.
   *
   * @param frame the input with Headrace's own columns, under a watermark unless the clock is its time
   * @param grouped its aggregates, as `WindowStep` reads them
   * @param spec the declaration, as JSON
   * @param counts where rows are counted
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], spec: String, counts: Counts): Dataset[Row] = {
    quietTimers()
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val read = WindowStep(frame, grouped, spec)
    val declared = read.copy(spec = read.spec.copy(eager = session.conf.get(Eager, "false").toBoolean))
    val (step, child, renamed) = narrowed(declared, frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed)
    val (keys, keyed) = OperatorPlan.withConstantKey(step.keys.map(k => renamed(k.exprId)), child)
    val processor = new WindowProcessor(step, KeyEncoder.encoder(keys), counts)
    val rows = if (step.combines) combined(session, step, keys, keyed) else keyed
    val operator = OperatorPlan.node(
      processor, step.spec.byClock, keys, GroupByHash.over(session, keys, rows), RowCopy(), processor.encoder)
    classic.Dataset.ofRows(session, OperatorPlan.unpackRows(operator, operator.outputObjAttr, step.layout.output))
  }

  /** A plan with the columns that the step needs, those for `PreAggregate` behind them; and the step over these. */
  private def narrowed(step: WindowStep, plan: LogicalPlan): (WindowStep, LogicalPlan, Map[ExprId, Attribute]) = {
    val kept = plan.output.filter(a => step.ordered || a.name != "__position")
    val (child, renamed) = OperatorPlan.hideWatermark(Project(kept, plan))
    if (!step.combines) (step.over(kept), child, renamed)
    else {
      val added = PreAggregate.columns
      (step.over(kept ++ added.map(_.toAttribute)), Project(child.output ++ added, child), renamed)
    }
  }

  private def combined(session: classic.SparkSession, step: WindowStep, keys: Seq[Attribute], child: LogicalPlan): LogicalPlan = {
    OperatorPlan.addStrategy(session, PreAggregate.Planned)
    PreAggregate(step, keys, child)
  }
}
