package org.apache.spark.sql.headrace.tables

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A running aggregate: one row for each key that has rows, and its changes. The rows may be a changelog.
 *
 * @param plan the aggregates of the input
 * @param streaming true if the input is a stream
 */
final class RunningAggregateStep private (@transient plan: GroupedPlan, spec: TableSpec, streaming: Boolean)
    extends TableStep {
  private val declared = plan.aggregates
  private val raw = RunningAggregateStep.readColumns(plan, declared)

  /** True if rows of one key are aggregated before the shuffle: rows that remove none, in any order. */
  private val preAggregates = streaming && declared.commutative && declared.fixedSize &&
    !raw.exists(_.name == Change.Hidden)
  private val added = if (preAggregates) PreAggregateKeys.columns else Nil
  override val columns: StepColumns = {
    val fields = plan.keys.map(k => StructField(k.name, k.dataType)) ++ plan.names.zip(declared.types).map {
      case (name, kind) => StructField(name, kind)
    }
    new StepColumns(raw, added, spec.keys,
      Seq("main" -> StructType(fields :+ StructField(Change.Hidden, StringType))), whole = Some(plan.input))
  }
  val names: Seq[String] = plan.names
  val rows: TableRows = new TableRows(raw)
  val aggregates: Aggregates = declared.withInput(raw)
  val keyed: Boolean = columns.keys.nonEmpty

  /** True if the row that a change replaces is emitted, too. */
  val emitsBoth: Boolean = spec.flag("both")
  override val time: StepTime.Value = spec.time
  override def logic(counts: Counts): KeyedLogic = new RunningAggregate(this, counts)

  override def beforeShuffle(session: SparkSession, input: LogicalPlan, counts: Counts): LogicalPlan =
    if (!preAggregates) input else PlannedNode.add(session, PreAggregateKeys(this, input))
}

object RunningAggregateStep {
  /** Creates a step; `grouped` is `frame` grouped by key and aggregated. */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], text: String): RunningAggregateStep =
    new RunningAggregateStep(GroupedPlan(frame, grouped), new TableSpec(text), frame.isStreaming)

  /** The columns that the step reads; others are not shuffled. */
  private def readColumns(plan: GroupedPlan, aggregates: Aggregates): Seq[Attribute] = {
    val referenced = aggregates.columns
    val internal = Set("__ts", Change.Hidden) ++ (if (aggregates.commutative) Nil else Seq("__position"))
    plan.input.zipWithIndex.collect {
      case (column, i)
          if referenced(i) || internal(column.name) || plan.keys.exists(_.exprId == column.exprId) => column
    }
  }
}

private object RunningGroup {
  /** Reads the row last emitted from stored bytes; null for none. */
  def lastRow(bytes: Array[Byte], width: Int): UnsafeRow = {
    val in = new Input(bytes)
    in.readVarLong(false)
    if (in.readBoolean()) RowBytes.read(in, width) else null
  }
}

private final class RunningAggregate(step: RunningAggregateStep, counts: Counts) extends KeyedLogic {
  private val aggregates = step.aggregates
  private val types = aggregates.types.toArray
  private val keyTypes = step.columns.keyType.map(_.dataType).toArray

  /** The number of rows, the row last emitted (null for none), and the buffer. */
  private final class Group(var present: Long, var last: UnsafeRow, val buffer: InternalRow)

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val group = read(store.get(0))
    events.foreach { event =>
      counts.add(Counts.Rows, event.rows)
      counts.add(Counts.Processed, event.rows)
      if (event.buffer != null) aggregates.merge(group.buffer, event.buffer)
      else aggregates.update(group.buffer, event.row)
      group.present += (if (step.rows.removes(event.row)) -1 else event.rows)
    }
    val next = if (group.present > 0 || !step.keyed) aggregates.result(group.buffer, key) else null
    Change.between(group.last, next) { (row, change) =>
      if (step.emitsBoth || change != Change.UpdateBefore) emit(key, row, change, out)
    }
    group.last = next
    if (group.present == 0 && step.keyed) store.remove(0) else store.put(0, write(group))
  }

  private def emit(key: InternalRow, row: UnsafeRow, change: UTF8String, out: TaggedRows): Unit = {
    val values = new Array[Any](keyTypes.length + types.length + 1)
    keyTypes.indices.foreach(i => values(i) = key.get(i, keyTypes(i)))
    types.indices.foreach(i => values(keyTypes.length + i) = row.get(i, types(i)))
    values(values.length - 1) = change
    out.emit(0, new GenericInternalRow(values))
  }

  private def read(bytes: Array[Byte]): Group =
    if (bytes == null) new Group(0, null, aggregates.create())
    else {
      val in = new Input(bytes)
      val present = in.readVarLong(false)
      val last = if (in.readBoolean()) RowBytes.read(in, types.length) else null
      new Group(present, last, aggregates.read(RowBytes.read(in)))
    }

  private def write(group: Group): Array[Byte] = {
    val (out, buffer) = (new Output(256, -1), aggregates.write(group.buffer))
    out.writeVarLong(group.present, false)
    out.writeBoolean(group.last != null)
    if (group.last != null) RowBytes.write(group.last, out)
    RowBytes.write(buffer, out)
    out.toBytes
  }
}
