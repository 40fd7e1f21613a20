package org.apache.spark.sql.headrace.windows

import java.util.{Arrays, Comparator}

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{SlotStore, TimedState}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, RowBytes, Time}

/** A row of a key; `index` is the number of panes emitted for it, `last` the values of the last one. */
final class StoredRow(val time: Long, val row: UnsafeRow, var index: Int = 0, var last: Array[Byte] = null) {

  /** True if this call must emit the row again. */
  var emitAgain: Boolean = false

  def emitted: Boolean = index > 0

  def event: Event = Event(row, Some(time))
}

/** The rows of a key by time, those of equal time in arrival order. */
final class StoredRows(var rows: Array[StoredRow]) extends TimedState {

  def add(added: Iterable[StoredRow]): Unit = {
    rows ++= added
    Arrays.sort(rows, StoredRows.byTime)
  }

  def remove(at: Int): Unit = rows = rows.patch(at, Nil, 1)
}

object StoredRows {
  private val byTime: Comparator[StoredRow] = (a, b) => java.lang.Long.compare(a.time, b.time)
}

/** Encodes the state in slot 0. */
final class StoredRowsCodec {
  private val out = new Output(1024, -1)

  def write(state: StoredRows): Array[Byte] = {
    out.clear()
    out.writeLong(state.timerAt)
    out.writeVarInt(state.rows.length, true)
    state.rows.foreach { entry =>
      out.writeLong(entry.time)
      out.writeVarInt(entry.index, true)
      out.writeVarInt(entry.row.numFields, true)
      RowBytes.write(entry.row, out)
      RowBytes.write(if (entry.last == null) Array.emptyByteArray else entry.last, out)
    }
    out.toBytes
  }

  def read(stored: Array[Byte]): StoredRows =
    if (stored == null) new StoredRows(Array.empty)
    else {
      val in = new Input(stored)
      val timerAt = in.readLong()
      val state = new StoredRows(Array.fill(in.readVarInt(true))(row(in)))
      state.timerAt = timerAt
      state
    }

  private def row(in: Input): StoredRow = {
    val (time, index) = (in.readLong(), in.readVarInt(true))
    val width = in.readVarInt(true)
    val row = RowBytes.read(in, width)
    val last = RowBytes.read(in)
    new StoredRow(time, row, index, if (last.isEmpty) null else last)
  }
}

abstract class StoredRowWindows(panes: Panes) extends KeyedLogic {
  protected val counts: Counts = panes.counts
  protected val layout: WindowLayout = panes.layout
  private val codec = new StoredRowsCodec

  /** Adds rows, which have an event time, or emits them as late. */
  protected def take(state: StoredRows, added: Iterator[StoredRow], now: Now, out: TaggedRows): Unit

  /** Emits the results that the watermark has completed. */
  protected def release(key: InternalRow, state: StoredRows, now: Now, out: TaggedRows): Unit

  /** Drops rows that no later result contains. */
  protected def dropRows(state: StoredRows, now: Now): Unit = ()

  /** First watermark in milliseconds at which the key needs a call; Long.MaxValue for none. */
  protected def due(state: StoredRows, now: Now): Long

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    release(key, state, now, out)
    take(state, events.flatMap(toStored(_, now, out)), now, out)
    release(key, state, now, out)
    save(store, state, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    state.onTimer(due)
    release(key, state, now, out)
    save(store, state, now)
  }

  private def toStored(event: Event, now: Now, out: TaggedRows): Option[StoredRow] = {
    counts.add(Counts.Rows, 1)
    if (event.at != Time.None) Some(new StoredRow(event.at, layout.bufferedRow(event.row).copy()))
    else {
      panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      None
    }
  }

  private def save(store: SlotStore, state: StoredRows, now: Now): Unit = {
    dropRows(state, now)
    if (state.rows.isEmpty && state.timerAt == Long.MaxValue) store.remove(0)
    else {
      state.setTimer(due(state, now), store)
      store.put(0, codec.write(state))
    }
  }
}
