package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.sql.catalyst.analysis.UnresolvedDeserializer
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MapGroups, TransformWithState}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.headrace.compat.{ColumnFamilies, HandleInternals}
import org.apache.spark.sql.headrace.operators.state.{KeyStore, TimerIndex}
import org.apache.spark.sql.headrace.operators.{Counts, GroupByHash, KeyEncoder, Now, OperatorPlan, RowCopy, Time, WholeRow}
import org.apache.spark.sql.headrace.patterns.MatchStep
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.{ObjectType, StructField, StructType}
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Plans an in-order step; the output is tagged rows. */
object InOrderOperator {
  /** Plans a pattern over a stream. */
  def matches(frame: Dataset[Row], spec: String, counts: Counts): Dataset[Row] =
    apply(frame, MatchStep(frame, spec), counts)

  /** Plans a pattern over a batch. */
  def matchesBatch(frame: Dataset[Row], spec: String): Dataset[Row] = batch(frame, MatchStep(frame, spec))

  /**
   * Plans any in-order step over a stream, which needs a watermark unless the step uses clock time.
   */
  def apply(frame: Dataset[Row], step: InOrderStep, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val analysed = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed
    val (child, renamed) = OperatorPlan.hideWatermark(withFilter(session, step, counts, step.columns.over(analysed)))
    val (keys, keyed) = OperatorPlan.withConstantKey(step.columns.keys.map(k => renamed(k.exprId)), child)
    val processor = new InOrderProcessor(step, KeyEncoder.encoder(keys), counts)
    val node = OperatorPlan.node(
      processor, step.clockTime, keys, GroupByHash.over(session, keys, keyed), RowCopy(), processor.encoder)
    classic.Dataset.ofRows(session, OperatorPlan.unpackRows(node, node.outputObjAttr, step.columns.output))
  }

  private def withFilter(session: classic.SparkSession, step: InOrderStep, counts: Counts, plan: LogicalPlan): LogicalPlan =
    if (step.conditions.isEmpty && !step.sifts) plan
    else {
      OperatorPlan.addStrategy(session, PreShuffleFilter.Planned)
      PreShuffleFilter(step, step.conditions, step.columns.ts, counts, plan)
    }

  /** Plans any in-order step over a batch. */
  def batch(frame: Dataset[Row], step: InOrderStep): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = step.columns.over(frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed)
    val (keys, child) = OperatorPlan.withConstantKey(step.columns.keys, plan)
    val encoder = ExpressionEncoder(StructType(keys.map(k => StructField(k.name, k.dataType, k.nullable))))
    val node = MapGroups(
      new InOrderBatch(step), UnresolvedDeserializer(encoder.deserializer, keys), WholeRow(), keys, child.output, Nil,
      AttributeReference("row", ObjectType(classOf[InternalRow]), nullable = false)(), child)
    classic.Dataset.ofRows(session, OperatorPlan.unpackRows(node, node.outputObjAttr, step.columns.output))
  }
}

/** Converts Spark's key object to a row; empty if the step has no key columns. */
private final class KeyConverter(columns: StepColumns) {
  private val toCatalyst = CatalystTypeConverters.createToCatalystConverter(columns.keyType)

  def apply(key: Any): InternalRow =
    if (columns.keys.isEmpty) InternalRow.empty else toCatalyst(key).asInstanceOf[InternalRow]
}

/**
 * Runs an in-order step on Spark's state: one entry per key, more if many rows are buffered.
 *
 * @param encoder the encoder of keys as rows
 */
final class InOrderProcessor(val step: InOrderStep, val encoder: ExpressionEncoder[Any], counts: Counts)
    extends StatefulProcessor[InternalRow, InternalRow, InternalRow] {
  @transient private var store: KeyStore = _
  @transient private lazy val logic = new InOrderLogic(step, counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)

  override def init(output: OutputMode, time: TimeMode): Unit = {
    counts.begin(getHandle)
    getHandle match {
      case task: StatefulProcessorHandleImpl =>
        val state = HandleInternals.store(task)
        ColumnFamilies.map(state, KeyStore.Name, encoder.schema)
        ColumnFamilies.timers(state, time, encoder.schema)
        val wakes = new TimerIndex(state, time, encoder.schema.length)
        HandleInternals.setTimers(task, wakes)
        store = new KeyStore(task, state, wakes)
      case driver => // the driver only needs the state schema
        driver.getMapState(KeyStore.Name, Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE)
    }
  }

  override def handleInputRows(
      key: InternalRow, rows: Iterator[InternalRow], times: TimerValues): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.onRows(keyRow(key), store, step.columns.events(rows), now(times), out)
    out.take()
  }

  override def handleExpiredTimer(
      key: InternalRow, times: TimerValues, timer: ExpiredTimerInfo): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.onTimer(keyRow(key), store, timer.getExpiryTimeInMs(), now(times), out)
    out.take()
  }

  /** Without key columns Spark's key is a constant; hide it. */
  private def keyRow(key: InternalRow): InternalRow = if (step.columns.keys.isEmpty) InternalRow.empty else key

  private def now(times: TimerValues): Now = {
    val clock = Time.micros(times.getCurrentProcessingTimeInMs())
    val watermark = Time.watermark(times.getCurrentWatermarkInMs())
    Now(if (step.clockTime) math.max(clock, watermark) else watermark, clock)
  }
}

/** Processes all rows of one key. */
private final class InOrderBatch(step: InOrderStep) extends ((Any, Iterator[Any]) => IterableOnce[Any]) with Serializable {
  @transient private lazy val counts = Counts.local()
  @transient private lazy val logic = new InOrderLogic(step, counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  @transient private lazy val keys = new KeyConverter(step.columns)

  override def apply(key: Any, rows: Iterator[Any]): IterableOnce[Any] = {
    logic.processBatch(keys(key), step.columns.events(rows.map(_.asInstanceOf[InternalRow])), Now(Time.End, Time.End), out)
    out.take()
  }
}

object InOrderProcessor {
  /** Finds the in-order step in a query's plan. */
  def stepOf(query: Dataset[Row]): Option[InOrderStep] =
    query.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed.collectFirst {
      case t: TransformWithState if t.statefulProcessor.isInstanceOf[InOrderProcessor] =>
        t.statefulProcessor.asInstanceOf[InOrderProcessor].step
    }
}
