package org.apache.spark.sql.headrace.windows

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** A row of a key; `index` is the number of panes emitted for it. */
final class TrailingRow(val time: Long, val row: UnsafeRow, var index: Int, var last: Array[Byte]) {
  /** True if this call must emit the row again. */
  var emitAgain: Boolean = false
  def emitted: Boolean = index > 0
}

/** Rows of a key by time, those of equal time in arrival order, and the timer in milliseconds. */
final class TrailingState(var rows: Array[TrailingRow], var timerAt: Long)

/** Encodes the state in slot 0. */
final class TrailingCodec {
  private val out = new Output(1024, -1)

  def write(state: TrailingState): Array[Byte] = {
    out.clear()
    out.writeLong(state.timerAt)
    out.writeVarInt(state.rows.length, true)
    state.rows.foreach { entry =>
      out.writeLong(entry.time)
      out.writeVarInt(entry.index, true)
      out.writeVarInt(entry.row.numFields, true)
      bytes(entry.row.getBytes)
      bytes(if (entry.last == null) Array.emptyByteArray else entry.last)
    }
    out.toBytes
  }

  def read(stored: Array[Byte]): TrailingState =
    if (stored == null) new TrailingState(Array.empty, Long.MaxValue)
    else {
      val in = new Input(stored)
      val timerAt = in.readLong()
      new TrailingState(Array.fill(in.readVarInt(true))(row(in)), timerAt)
    }

  private def row(in: Input): TrailingRow = {
    val (time, index) = (in.readLong(), in.readVarInt(true))
    val row = new UnsafeRow(in.readVarInt(true))
    val own = in.readBytes(in.readVarInt(true))
    row.pointTo(own, own.length)
    val last = in.readBytes(in.readVarInt(true))
    new TrailingRow(time, row, index, if (last.isEmpty) null else last)
  }

  private def bytes(value: Array[Byte]): Unit = {
    out.writeVarInt(value.length, true)
    out.writeBytes(value)
  }
}

/**
 * Trailing windows: one result per row over `(t - size, t]`, when the watermark passes t. A late row within
 * the lateness emits its own result and, again, those of the rows in `[t, t + size)`.
 */
final class TrailingWindows(panes: Panes, size: Long, layout: WindowLayout) extends WindowLogic {
  private val spec = panes.spec
  private val counts = panes.counts
  private val codec = new TrailingCodec
  private val byTime: Comparator[TrailingRow] = (a, b) => java.lang.Long.compare(a.time, b.time)

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now,
      out: WindowEmitter): Unit = {
    val state = codec.read(store.get(0))
    release(key, state, now, out)
    val added, removed = mutable.ArrayBuffer.empty[TrailingRow]
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      event.time match {
        case None => panes.emitLate(event, None, now, LateReason.NoEventTime, out)
        case Some(time) if time < 0 || tooLate(time, now) =>
          panes.emitLate(event, Some((time - size, time)), now, LateReason.TooLate, out)
        case Some(time) =>
          val entry = new TrailingRow(time, layout.bufferedRow(event.row).copy(), 0, null)
          if (layout.isChangelog && layout.changes.removes(entry.row)) removed += entry else added += entry
      }
    }
    counts.add(Counts.Folded, added.size)
    counts.add(Counts.Placed, added.size)
    added.foreach(entry => if (entry.time < now.watermark) markAffected(state.rows, entry.time))
    state.rows ++= added
    Arrays.sort(state.rows, byTime)
    removed.foreach(remove(key, state, _, now, out))
    release(key, state, now, out)
    save(store, state, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit = {
    val state = codec.read(store.get(0))
    if (state.timerAt <= due) state.timerAt = Long.MaxValue
    release(key, state, now, out)
    save(store, state, now)
  }

  /** Takes a row of a changelog out; results that contain it are emitted again. */
  private def remove(key: InternalRow, state: TrailingState, removal: TrailingRow, now: Now,
      out: WindowEmitter): Unit = {
    val at = layout.changes.indexOf(state.rows, removal)
    if (at < 0) {
      val event = Event(removal.row, Some(removal.time))
      panes.emitLate(event, Some((removal.time - size, removal.time)), now, LateReason.TooLate, out)
    } else {
      val entry = state.rows(at)
      state.rows = state.rows.patch(at, Nil, 1)
      if (entry.emitted) {
        retract(key, entry, out)
        markAffected(state.rows, entry.time)
        counts.add(Counts.Settled, 1)
      } else {
        counts.add(Counts.Folded, -1)
        counts.add(Counts.Placed, -1)
      }
      counts.add(Counts.Superseded, if (entry.emitted) 1 else 2)
    }
  }

  private def tooLate(time: Long, now: Now): Boolean = now.watermark != Time.None &&
    Time.plus(time, spec.lateness) < now.watermark
  private def markAffected(rows: Array[TrailingRow], time: Long): Unit = rows.foreach(other =>
    if (other.emitted && other.time >= time && other.time < time + size) other.emitAgain = true)

  private def release(key: InternalRow, state: TrailingState, now: Now, out: WindowEmitter): Unit = {
    val rows = state.rows
    val sums = new TrailingAggregates(rows, size, panes.aggregates)
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

  private def emit(key: InternalRow, entry: TrailingRow, buffer: InternalRow, out: WindowEmitter): Unit = {
    val values = panes.aggregates.result(buffer, key).getBytes
    retract(key, entry, out)
    out.trailing(key, entry.row, pane(entry, entry.index, values), retraction = false)
    counts.add(Counts.Panes, 1)
    entry.index += 1
    if (spec.mode == PaneMode.Retracting) entry.last = values
  }

  private def retract(
      key: InternalRow, entry: TrailingRow, out: WindowEmitter): Unit = if (entry.last != null) {
    out.trailing(key, entry.row, pane(entry, entry.index - 1, entry.last), retraction = true)
    counts.add(Counts.Retractions, 1)
  }

  private def pane(entry: TrailingRow, index: Int, values: Array[Byte]): Pane =
    Pane(entry.time - size, entry.time, 0, entry.time, index, PaneTiming.OnTime, values)

  private def save(store: SlotStore, state: TrailingState, now: Now): Unit = {
    val all = state.rows.length
    state.rows = state.rows.filterNot { entry =>
      now.watermark != Time.None && entry.emitted &&
      Time.plus(Time.plus(entry.time, size), spec.lateness) <= now.watermark
    }
    counts.add(Counts.Settled, all - state.rows.length)
    if (state.rows.isEmpty && state.timerAt == Long.MaxValue) store.remove(0)
    else {
      scheduleTimer(store, state, now)
      store.put(0, codec.write(state))
    }
  }

  private def scheduleTimer(
      store: SlotStore, state: TrailingState, now: Now): Unit = if (state.rows.nonEmpty) {
    var first = Long.MaxValue
    state.rows.foreach { entry =>
      first = math.min(first, if (entry.emitted) Time.plus(entry.time, size + spec.lateness) else entry.time)
    }
    val at = math.max(Math.floorDiv(first, 1000L), Time.floor(now.watermark)) + 1
    if (at < state.timerAt) {
      state.timerAt = at
      store.setTimer(at)
    }
  }
}
