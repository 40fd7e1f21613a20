package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.inorder.{StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{MemoryStore, SlotStore, StateLayout}
import org.apache.spark.sql.types.{StringType, StructType}

/** A step that keeps the rows of a table. */
trait TableStep extends Serializable {
  def columns: StepColumns
  def time: StepTime.Value

  /** Creates the logic of one task. */
  def logic(counts: Counts): TableLogic
}

/** Per-key logic of a table step. Within a call the watermark is applied first. */
trait TableLogic {
  /** Processes the rows of one key in a micro-batch, in arrival order. */
  def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit

  /** Processes an expired timer of the key; `due` is its millisecond. */
  def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = ()
}

/** Plans a table step; the output is tagged rows. */
object TableOperator {
  /** Plans a step over a stream, which needs a watermark if the step uses event time. */
  def apply(frame: Dataset[Row], step: TableStep, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    val (child, renamed) = OperatorPlan.hideWatermark(step.columns.over(OperatorPlan.analyzed(frame)))
    val (keys, keyed) = OperatorPlan.withConstantKey(step.columns.keys.map(k => renamed(k.exprId)), child)
    val processor = new TableProcessor(step, KeyEncoder.encoder(keys), counts)
    OperatorPlan.transform(session, processor, StepTime.mode(step.time), keys, keyed, step.columns.output)
  }

  /** Plans a step over a batch: all rows of a key, then the end of the input. */
  def batch(frame: Dataset[Row], step: TableStep): Dataset[Row] = OperatorPlan
    .mapGroups(frame.sparkSession.asInstanceOf[SparkSession], step.columns.keys,
      step.columns.over(OperatorPlan.analyzed(frame)), step.columns.output)(new TableBatch(step))
}

/** Runs a table step on Spark's state. */
final class TableProcessor(val step: TableStep, keys: ExpressionEncoder[Any], counts: Counts)
    extends KeyedProcessor(keys, step.columns.keys.nonEmpty, step.time == StepTime.Clock, counts) {
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  override protected def layout: StateLayout = StateLayout("table", keys)

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

/** Processes all rows of one key. Of a changelog only the final rows remain, as inserts. */
private final class TableBatch(step: TableStep) extends GroupFunction {
  private val main = step.columns.output("__main").dataType.asInstanceOf[StructType]
  private val labels = main.fieldNames.indices.filter(i => Change.fields.exists(_.name == main(i).name))
  @transient private lazy val counts = Counts.local()
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new TaggedRows(step.columns, counts)
  @transient private lazy val asInsert = UnsafeProjection.create(main.fields.toSeq.zipWithIndex.map {
    case (_, i) if labels.contains(i) => Literal(Change.Insert, StringType)
    case (field, i) => BoundReference(i, field.dataType, nullable = true)
  })

  override def apply(key: InternalRow, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val (store, end) = (new MemoryStore, Now(Time.End, Time.End))
    logic.onRows(key, store, step.columns.events(rows), Now(Time.None, 0), out)
    store.due(Time.floor(Time.End)).foreach(logic.onTimer(key, store, _, end, out))
    if (labels.isEmpty) out.take() else finalRows(out.take())
  }

  private def finalRows(tagged: Iterator[InternalRow]): Iterator[InternalRow] = {
    val (changes, others) = tagged.toVector.partition(!_.isNullAt(1))
    val counts = mutable.LinkedHashMap.empty[UnsafeRow, Int]
    changes.map(_.getStruct(1, main.size)).foreach { row =>
      val sign = if (Change.removes(row.getUTF8String(labels.last))) -1 else 1
      counts.updateWith(asInsert(row).copy())(count => Some(count.getOrElse(0) + sign))
    }
    others.iterator ++ counts.iterator.flatMap { case (row, n) => Iterator.fill(n)(step.columns.tag(0, row)) }
  }
}
