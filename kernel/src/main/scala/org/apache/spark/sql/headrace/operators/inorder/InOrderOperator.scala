package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.{SlotStore, StateLayout}

/** Plans an in-order step; the output is tagged rows. */
object InOrderOperator {
  /** Plans a step over a stream, which needs a watermark unless the step uses clock time. */
  def apply(frame: Dataset[Row], step: InOrderStep, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    val (child, renamed) = OperatorPlan
      .hideWatermark(withFilter(session, step, counts, step.columns.over(OperatorPlan.analyzed(frame))))
    val (keys, keyed) = OperatorPlan.withConstantKey(step.columns.keys.map(k => renamed(k.exprId)), child)
    val processor = new InOrderProcessor(step, KeyEncoder.encoder(keys), counts)
    OperatorPlan
      .transform(session, processor, OperatorPlan.timeMode(step.clockTime), keys, keyed, step.columns.output)
  }

  private def withFilter(
      session: SparkSession, step: InOrderStep, counts: Counts, plan: LogicalPlan): LogicalPlan =
    if (step.conditions.isEmpty && !step.sifts) plan
    else {
      OperatorPlan.addStrategy(session, PreShuffleFilter.Planned)
      PreShuffleFilter(step, step.conditions, step.columns.ts, counts, plan)
    }

  /** Plans a step over a batch. */
  def batch(frame: Dataset[Row], step: InOrderStep): Dataset[Row] = OperatorPlan
    .mapGroups(frame.sparkSession.asInstanceOf[SparkSession], step.columns.keys,
      step.columns.over(OperatorPlan.analyzed(frame)), step.columns.output)(new InOrderBatch(step))
}

/** Runs an in-order step on Spark's state: one entry per key, more if many rows are buffered. */
final class InOrderProcessor(val step: InOrderStep, keys: ExpressionEncoder[Any], counts: Counts)
    extends KeyedProcessor(keys, step.columns.keys.nonEmpty, step.clockTime, counts) {
  @transient private lazy val logic = new InOrderLogic(step, counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  override protected def layout: StateLayout = StateLayout("matches", keys)

  override protected def onRows(
      key: InternalRow, store: SlotStore, rows: Iterator[InternalRow], now: Now): Iterator[InternalRow] = {
    logic.onRows(key, store, step.columns.events(rows), now, out)
    out.take()
  }

  override protected def onTimer(
      key: InternalRow, store: SlotStore, due: Long, now: Now): Iterator[InternalRow] = {
    logic.onTimer(key, store, due, now, out)
    out.take()
  }
}

/** Processes all rows of one key. */
private final class InOrderBatch(step: InOrderStep) extends GroupFunction {
  @transient private lazy val counts = Counts.local()
  @transient private lazy val logic = new InOrderLogic(step, counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)

  override def apply(key: InternalRow, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    logic.processBatch(key, step.columns.events(rows), Now(Time.End, Time.End), out)
    out.take()
  }
}

object InOrderProcessor {
  /** Finds the in-order step in a query's plan. */
  def stepOf(query: Dataset[Row]): Option[InOrderStep] = OperatorPlan
    .processorOf(query, classOf[InOrderProcessor]).map(_.step)
}
