package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.TaggedRows
import org.apache.spark.sql.headrace.operators.{Counts, FrameAggregates, FrameRows, LateReason, Now, Time}

/**
 * Trailing windows: one result per row over `(t - size, t]`, when the watermark passes t. A late row within
 * the lateness emits its own result and, again, those of the rows in `[t, t + size)`.
 */
final class TrailingWindows(panes: Panes, size: Long) extends StoredRowWindows(panes) {
  private val spec = panes.spec

  override protected def take(
      state: StoredRows, added: Iterator[StoredRow], now: Now, out: TaggedRows): Unit = {
    val rows, removals = mutable.ArrayBuffer.empty[StoredRow]
    added.foreach { entry =>
      if (entry.time < 0 || tooLate(entry.time, now)) emitLate(entry, now, out)
      else if (layout.isChangelog && layout.changes.removes(entry.row)) removals += entry
      else rows += entry
    }
    counts.add(Counts.Processed, rows.size)
    counts.add(Counts.Assigned, rows.size)
    rows.foreach(entry => if (entry.time < now.watermark) markAffected(state.rows, entry.time))
    state.add(rows)
    removals.foreach(remove(state, _, now, out)) // after the rows that they may refer to
  }

  /** Takes a row of a changelog out; results that contain it are emitted again. */
  private def remove(state: StoredRows, removal: StoredRow, now: Now, out: TaggedRows): Unit = {
    val at = layout.changes.indexOf(state.rows, removal)
    if (at < 0) emitLate(removal, now, out)
    else {
      val entry = state.rows(at)
      state.remove(at)
      if (entry.emitted) {
        retract(entry, out)
        markAffected(state.rows, entry.time)
        counts.add(Counts.Emitted, 1)
      } else {
        counts.add(Counts.Processed, -1)
        counts.add(Counts.Assigned, -1)
      }
      counts.add(Counts.Superseded, if (entry.emitted) 1 else 2)
    }
  }

  private def emitLate(entry: StoredRow, now: Now, out: TaggedRows): Unit = panes
    .emitLate(entry.event, Some((entry.time - size, entry.time)), now, LateReason.TooLate, out)

  private def tooLate(time: Long, now: Now): Boolean = now.watermark != Time.None &&
    Time.plus(time, spec.lateness) < now.watermark
  private def markAffected(rows: Array[StoredRow], time: Long): Unit = rows.foreach(other =>
    if (other.emitted && other.time >= time && other.time < time + size) other.emitAgain = true)

  override protected def release(key: InternalRow, state: StoredRows, now: Now, out: TaggedRows): Unit = {
    val rows = state.rows
    val sums = new FrameAggregates(TrailingWindows.framesOf(rows), size, panes.aggregates)
    var from, until, i = 0
    while (i < rows.length) {
      val entry = rows(i)
      if (entry.emitAgain || (!entry.emitted && entry.time < now.watermark)) {
        while (rows(from).time <= entry.time - size) from += 1
        while (until < rows.length && rows(until).time <= entry.time) until += 1
        emit(key, entry, sums.over(from, until), out)
        entry.emitAgain = false
      }
      i += 1
    }
  }

  private def emit(key: InternalRow, entry: StoredRow, buffer: InternalRow, out: TaggedRows): Unit = {
    val values = panes.aggregates.result(buffer, key).getBytes
    retract(entry, out)
    out.emit(0, layout.trailingRow(entry.row, pane(entry, entry.index, values), retraction = false))
    counts.add(Counts.Panes, 1)
    entry.index += 1
    if (spec.mode == PaneMode.Retracting) entry.last = values
  }

  private def retract(entry: StoredRow, out: TaggedRows): Unit = if (entry.last != null) {
    out.emit(0, layout.trailingRow(entry.row, pane(entry, entry.index - 1, entry.last), retraction = true))
    counts.add(Counts.Retractions, 1)
  }

  private def pane(entry: StoredRow, index: Int, values: Array[Byte]): Pane =
    Pane(entry.time - size, entry.time, 0, entry.time, index, PaneTiming.OnTime, values)

  override protected def dropRows(state: StoredRows, now: Now): Unit = if (now.watermark != Time.None) {
    val all = state.rows.length
    state.rows = state.rows.filterNot(entry => entry.emitted && lastUse(entry) <= now.watermark)
    counts.add(Counts.Emitted, all - state.rows.length)
  }

  private def lastUse(entry: StoredRow): Long = Time.plus(Time.plus(entry.time, size), spec.lateness)

  override protected def due(state: StoredRows, now: Now): Long =
    if (state.rows.isEmpty) Long.MaxValue
    else {
      val first = state.rows.iterator.map(entry => if (entry.emitted) lastUse(entry) else entry.time).min
      math.max(Math.floorDiv(first, 1000L), Time.floor(now.watermark)) + 1
    }
}

private object TrailingWindows {
  def framesOf(rows: Array[StoredRow]): FrameRows = new FrameRows {
    override def row(i: Int): InternalRow = rows(i).row
    override def position(i: Int): Long = rows(i).time
  }
}
