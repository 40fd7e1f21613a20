package org.apache.spark.sql.headrace.tables

import java.nio.ByteBuffer

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.{SlotStore, TimedState}
import org.apache.spark.sql.types.{BooleanType, LongType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Keeps the row with the highest event time of each key, and emits every change of it.
 *
 * The output `versions` has every row, older ones included, with `__deleted`: it is the history of the table
 * that joins at event time read; `__sequence` is the arrival order of the rows of a key. The column
 * `__delete` of the input marks rows that remove their key.
 *
 * The rows of a changelog are applied by key: a `delete` may have only the key. An `update_before` removes the
 * row that it equals, so that a row whose key changes leaves its old key. A micro-batch emits its net change.
 *
 * @param ttl time after its last row, by the watermark, at which a key is removed; 0 for never
 * @param byArrival true if the last row to arrive is the latest one, whatever its event time
 */
final class LatestStep(val columns: StepColumns, val rows: TableRows, val time: StepTime.Value, val ttl: Long,
    val byArrival: Boolean)
    extends TableStep {
  val deletes: Int = columns.input.indexWhere(_.name == LatestStep.Delete)
  override def logic(counts: Counts): KeyedLogic = new LatestLogic(this, counts)
}

object LatestStep {
  private val Delete = "__delete"
  val Main = 0
  val Versions = 1

  /** Creates a step from its declaration; `versions` is true if a step reads the versions. */
  def apply(frame: Dataset[Row], text: String): LatestStep = {
    val spec = new TableSpec(text)
    val input = OperatorPlan.planOf(frame).output
    val rows = new TableRows(input)
    val main = StructType((rows.fields ++ Change.fields) :+ rows.timeField)
    val history = StructType(rows.fields :+ StructField("__deleted", BooleanType) :+
      StructField("__sequence", LongType) :+ rows.timeField)
    val columns = new StepColumns(input, Nil, spec.keys, Seq("main" -> main, "versions" -> history),
      if (spec.flag("versions")) Set.empty else Set("versions"))
    new LatestStep(columns, rows, spec.time, spec.number("ttl"), spec.flag("by_arrival"))
  }
}

/** The table row of a key; `row` is null if the key was removed. */
private final class LatestRow(var row: UnsafeRow, var time: Long, var touched: Long, var sequence: Long)
    extends TimedState

private final class LatestLogic(step: LatestStep, counts: Counts) extends KeyedLogic {
  private val rows = step.rows

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    var state = read(store.get(0))
    if (isExpired(state, now)) state = expire(state, store, out)
    if (rows.isChangelog) applyChanges(state, events, now, out)
    else events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (step.byArrival || event.at >= 0) take(state, event, now, out)
      else out.late(event, now, if (event.at == Time.None) LateReason.NoEventTime else LateReason.TooLate)
    }
    save(store, state)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val bytes = store.get(0)
    if (bytes != null) {
      val state = read(bytes)
      state.onTimer(due)
      if (isExpired(state, now)) expire(state, store, out) else save(store, state)
    }
  }

  private def take(state: LatestRow, event: Event, now: Now, out: TaggedRows): Unit = {
    val next = rows.toStored(event.row)
    val deletes = isDeleted(event)
    if (out.takes(LatestStep.Versions)) emitVersion(state, next, deletes, rows.timeOf(next), out)
    state.touched = Seq(state.touched, event.at, now.watermark, 0L).max
    if (!step.byArrival && event.at < state.time) counts.add(Counts.Superseded, 1)
    else {
      counts.add(Counts.Processed, 1)
      val row = if (deletes) null else next
      Change.between(state.row, row)(emit(_, _, out))
      state.row = row
      state.time = event.at
    }
  }

  private def applyChanges(state: LatestRow, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val before = state.row
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      counts.add(Counts.Processed, 1)
      val row = rows.toStored(event.row)
      val deletes = rows.labelOf(event.row) == Change.Delete || isDeleted(event)
      if (rows.labelOf(event.row) == Change.UpdateBefore) { if (state.row == row) state.row = null }
      else {
        if (out.takes(LatestStep.Versions)) emitVersion(state, row, deletes, rows.timeOf(row), out)
        state.row = if (deletes) null else row
      }
      state.time = event.at
      state.touched = Seq(state.touched, event.at, now.watermark, 0L).max
    }
    Change.between(before, state.row)(emit(_, _, out))
  }

  private def isDeleted(event: Event): Boolean = step.deletes >= 0 && !event.row.isNullAt(step.deletes) &&
    event.row.getBoolean(step.deletes)

  private def emit(row: UnsafeRow, change: UTF8String, out: TaggedRows): Unit = out.emit(
    LatestStep.Main, new GenericInternalRow(rows.values(row) ++ Array[Any](change, change, rows.timeOf(row))))

  private def emitVersion(
      state: LatestRow, row: UnsafeRow, deleted: Boolean, time: Any, out: TaggedRows): Unit = {
    state.sequence += 1
    out.emit(LatestStep.Versions,
      new GenericInternalRow(rows.values(row) ++ Array[Any](deleted, state.sequence, time)))
  }

  private def isExpired(state: LatestRow, now: Now): Boolean = step.ttl > 0 && state.touched != Time.None &&
    !now.ended && now.watermark >= Time.plus(state.touched, step.ttl)

  /** Removes a key that has had no row for `ttl`. */
  private def expire(state: LatestRow, store: SlotStore, out: TaggedRows): LatestRow = {
    if (state.row != null) {
      emit(state.row, Change.Delete, out)
      if (out.takes(LatestStep.Versions))
        emitVersion(state, state.row, deleted = true, state.touched + step.ttl, out)
    }
    state.replaceTimer(Long.MaxValue, store)
    store.remove(0)
    LatestRow.empty
  }

  private def save(store: SlotStore, state: LatestRow): Unit = if (state.touched != Time.None) {
    if (step.ttl > 0) state.replaceTimer(Time.millis(Time.plus(state.touched, step.ttl)), store)
    store.put(0, LatestRow.write(state))
  }

  private def read(bytes: Array[Byte]): LatestRow =
    if (bytes == null) LatestRow.empty else LatestRow.read(bytes, rows.width)
}

private object LatestRow {
  private val Header = 33

  def empty: LatestRow = new LatestRow(null, Time.None, Time.None, 0)

  def write(state: LatestRow): Array[Byte] = {
    val row = if (state.row == null) Array.emptyByteArray else state.row.getBytes
    ByteBuffer.allocate(Header + row.length).put(if (state.row == null) 0.toByte else 1.toByte)
      .putLong(state.time).putLong(state.touched).putLong(state.timerAt).putLong(state.sequence).put(row)
      .array
  }

  def read(bytes: Array[Byte], width: Int): LatestRow = {
    val in = ByteBuffer.wrap(bytes)
    val present = in.get() == 1
    val (time, touched, timerAt, sequence) = (in.getLong(), in.getLong(), in.getLong(), in.getLong())
    val state = new LatestRow(null, time, touched, sequence)
    state.timerAt = timerAt
    if (present) {
      val content = java.util.Arrays.copyOfRange(bytes, Header, bytes.length)
      state.row = new UnsafeRow(width)
      state.row.pointTo(content, content.length)
    }
    state
  }
}
