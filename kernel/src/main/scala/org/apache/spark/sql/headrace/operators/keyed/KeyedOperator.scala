package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToCatalystConverter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.{SlotStore, StateLayout}

/** Plans a keyed step; the output is tagged rows. */
object KeyedOperator {
  /** Plans a step over a stream, which needs a watermark if the step uses event time. */
  def apply(frame: Dataset[Row], step: KeyedStep, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    val input = step.beforeShuffle(session, step.columns.over(OperatorPlan.planOf(frame)), counts)
    val (child, renamed) = OperatorPlan.hideWatermark(input)
    val (keys, keyed) = OperatorPlan.withStateKeys(step.columns.keys.map(k => renamed(k.exprId)), child)
    val processor = new KeyedStepProcessor(step, KeyEncoder.encoder(keys), counts)
    OperatorPlan.transform(
      session, processor, processor.encoder, StepTime.mode(step.time), keys, keyed, step.columns.output)
  }

  /** Plans a step over a batch: all rows of a key, then the end of the input. */
  def batch(frame: Dataset[Row], step: KeyedStep): Dataset[Row] = OperatorPlan
    .mapGroups(frame.sparkSession.asInstanceOf[SparkSession], step.columns.keys,
      step.columns.over(OperatorPlan.planOf(frame)), step.columns.output)(new KeyedBatch(step))

  /** The state variable of the keyed step in a query's plan; null if there is none. Called from Python. */
  def variableOf(query: Dataset[Row]): String = stepOf(query).map(_.variable).orNull

  def stepOf(query: Dataset[Row]): Option[KeyedStep] = OperatorPlan
    .processorOf(query, classOf[KeyedStepProcessor]).map(_.step)

  /**
   * The watermark, in milliseconds, of the micro-batch that is being executed, for operators before a keyed
   * step; None outside a query.
   */
  def batchWatermark(session: SparkSession): Option[Long] = for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
    operator <- running.executedPlan.collectFirst { case operator: TransformWithStateExec => operator }
    millis <- operator.eventTimeWatermarkForEviction
  } yield millis
}

/** Runs a keyed step on Spark's state. */
final class KeyedStepProcessor(val step: KeyedStep, keys: ExpressionEncoder[Any], counts: Counts)
    extends KeyedProcessor(keys, step.columns.keys.nonEmpty, step.clockTime, counts) {
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  override protected def layout: StateLayout = StateLayout(step.variable, keys, step.dueByTime, step.hasAge)

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

/** Processes all rows of one key of a batch. */
private final class KeyedBatch(step: KeyedStep)
    extends ((Any, Iterator[Any]) => IterableOnce[Any]) with Serializable {
  @transient private lazy val toCatalyst = createToCatalystConverter(step.columns.keyType)
  @transient private lazy val counts = Counts.local()
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)

  override def apply(key: Any, rows: Iterator[Any]): IterableOnce[Any] = {
    val own = if (step.columns.keys.isEmpty) InternalRow.empty else toCatalyst(key).asInstanceOf[InternalRow]
    logic.onBatch(own, step.columns.events(rows.map(_.asInstanceOf[InternalRow])), out)
    step.batchOutput(out.take())
  }
}
