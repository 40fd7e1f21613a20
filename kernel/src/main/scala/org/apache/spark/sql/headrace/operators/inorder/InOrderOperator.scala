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

/** A step over rows in order, as a node of a plan: tagged rows out. */
object InOrderOperator {
  /** A pattern over a stream. */
  def matches(frame: Dataset[Row], spec: String, counts: Counts): Dataset[Row] =
    apply(frame, MatchStep(frame, spec), counts)

  /** A pattern over rows that are all there. */
  def matchesBatch(frame: Dataset[Row], spec: String): Dataset[Row] = batch(frame, MatchStep(frame, spec))

  /** Any step over a stream, which has a watermark unless the clock is its time. */
  def apply(frame: Dataset[Row], step: InOrderStep, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val analysed = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed
    val (child, renamed) = OperatorPlan.hidden(sifted(session, step, counts, step.columns.over(analysed)))
    val (keys, keyed) = OperatorPlan.constant(step.columns.keys.map(k => renamed(k.exprId)), child)
    val processor = new InOrderProcessor(step, KeyEncoder.encoder(keys), counts)
    val node = OperatorPlan.node(
      processor, step.clockTime, keys, GroupByHash.over(session, keys, keyed), RowCopy(), processor.encoder)
    classic.Dataset.ofRows(session, OperatorPlan.serialized(node, node.outputObjAttr, step.columns.output))
  }

  private def sifted(session: classic.SparkSession, step: InOrderStep, counts: Counts, plan: LogicalPlan): LogicalPlan =
    if (step.conditions.isEmpty && !step.sifts) plan
    else {
      OperatorPlan.plannedBy(session, PreShuffleFilter.Planned)
      PreShuffleFilter(step, step.conditions, step.columns.ts, counts, plan)
    }

  /** Any step over rows that are all there: each key's rows in order, then the end. */
  def batch(frame: Dataset[Row], step: InOrderStep): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = step.columns.over(frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed)
    val (keys, child) = OperatorPlan.constant(step.columns.keys, plan)
    val encoder = ExpressionEncoder(StructType(keys.map(k => StructField(k.name, k.dataType, k.nullable))))
    val node = MapGroups(
      new InOrderBatch(step), UnresolvedDeserializer(encoder.deserializer, keys), WholeRow(), keys, child.output, Nil,
      AttributeReference("row", ObjectType(classOf[InternalRow]), nullable = false)(), child)
    classic.Dataset.ofRows(session, OperatorPlan.serialized(node, node.outputObjAttr, step.columns.output))
  }
}

/** A key as Spark hands it over, as a row of the key's columns. Without any, Spark's key is a constant of no meaning. */
private final class KeyConverter(columns: StepColumns) {
  private val toCatalyst = CatalystTypeConverters.createToCatalystConverter(columns.keyType)

  def apply(key: Any): InternalRow =
    if (columns.keys.isEmpty) InternalRow.empty else toCatalyst(key).asInstanceOf[InternalRow]
}

/**
 * Runs a step's per-key logic on Spark's state: one entry for each key, and more where many rows wait.
 *
 * @param encoder of keys as rows, as Spark knows them
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
      case driver => // where Spark asks for the shape of the state only
        driver.getMapState(KeyStore.Name, Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE)
    }
  }

  override def handleInputRows(
      key: InternalRow, rows: Iterator[InternalRow], times: TimerValues): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.rows(own(key), store, step.columns.events(rows), now(times), out)
    out.take()
  }

  override def handleExpiredTimer(
      key: InternalRow, times: TimerValues, timer: ExpiredTimerInfo): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.visit(own(key), store, timer.getExpiryTimeInMs(), now(times), out)
    out.take()
  }

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def own(key: InternalRow): InternalRow = if (step.columns.keys.isEmpty) InternalRow.empty else key

  private def now(times: TimerValues): Now = {
    val clock = Time.micros(times.getCurrentProcessingTimeInMs())
    val watermark = Time.watermark(times.getCurrentWatermarkInMs())
    Now(if (step.clockTime) math.max(clock, watermark) else watermark, clock)
  }
}

/** The whole life of one key. */
private final class InOrderBatch(step: InOrderStep) extends ((Any, Iterator[Any]) => IterableOnce[Any]) with Serializable {
  @transient private lazy val counts = Counts.local()
  @transient private lazy val logic = new InOrderLogic(step, counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  @transient private lazy val keys = new KeyConverter(step.columns)

  override def apply(key: Any, rows: Iterator[Any]): IterableOnce[Any] = {
    logic.whole(keys(key), step.columns.events(rows.map(_.asInstanceOf[InternalRow])), Now(Time.End, Time.End), out)
    out.take()
  }
}

object InOrderProcessor {
  /** The step over rows in order in a query's plan. */
  def stepOf(query: Dataset[Row]): Option[InOrderStep] =
    query.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed.collectFirst {
      case t: TransformWithState if t.statefulProcessor.isInstanceOf[InOrderProcessor] =>
        t.statefulProcessor.asInstanceOf[InOrderProcessor].step
    }
}
