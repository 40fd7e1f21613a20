package org.apache.spark.sql.headrace.windows

import java.util.{Arrays, Comparator}

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{SlotStore, TimedState}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, RowBytes, Time}

/** A row of a key; `index` is the number of panes emitted for it, `last` the values of the last one. */
final class KeptRow(val time: Long, val row: UnsafeRow, var index: Int = 0, var last: Array[Byte] = null) {

  /** True if this call must emit the row again. */
  var emitAgain: Boolean = false

  def emitted: Boolean = index > 0

  def event: Event = Event(row, Some(time))
}

/** The rows of a key by time, those of equal time in arrival order. */
final class KeptRows(var rows: Array[KeptRow]) extends TimedState {

  def add(added: Iterable[KeptRow]): Unit = {
    rows ++= added
    Arrays.sort(rows, KeptRows.byTime)
  }

  def remove(at: Int): Unit = rows = rows.patch(at, Nil, 1)
}

object KeptRows {
  private val byTime: Comparator[KeptRow] = (a, b) => java.lang.Long.compare(a.time, b.time)
}

/** Encodes the state in slot 0. */
final class KeptRowsCodec {
  private val out = new Output(1024, -1)

  def write(state: KeptRows): Array[Byte] = {
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

  def read(stored: Array[Byte]): KeptRows =
    if (stored == null) new KeptRows(Array.empty)
    else {
      val in = new Input(stored)
      val timerAt = in.readLong()
      val state = new KeptRows(Array.fill(in.readVarInt(true))(row(in)))
      state.timerAt = timerAt
      state
    }

  private def row(in: Input): KeptRow = {
    val (time, index) = (in.readLong(), in.readVarInt(true))
    val width = in.readVarInt(true)
    val row = RowBytes.read(in, width)
    val last = RowBytes.read(in)
    new KeptRow(time, row, index, if (last.isEmpty) null else last)
  }
}

/** Windows that keep the rows of a key. */
abstract class KeptRowWindows(panes: Panes) extends KeyedLogic {
  protected val counts: Counts = panes.counts
  protected val layout: WindowLayout = panes.layout
  private val codec = new KeptRowsCodec

  /** Adds rows, which have an event time, or emits them as late. */
  protected def take(state: KeptRows, added: Iterator[KeptRow], now: Now, out: TaggedRows): Unit

  /** Emits the results that the watermark has completed. */
  protected def release(key: InternalRow, state: KeptRows, now: Now, out: TaggedRows): Unit

  /** Drops rows that no later result contains. */
  protected def dropRows(state: KeptRows, now: Now): Unit = ()

  /** First watermark in milliseconds at which the key needs a call; Long.MaxValue for none. */
  protected def due(state: KeptRows, now: Now): Long

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    release(key, state, now, out)
    take(state, events.flatMap(keptRow(_, now, out)), now, out)
    release(key, state, now, out)
    save(store, state, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    state.onTimer(due)
    release(key, state, now, out)
    save(store, state, now)
  }

  private def keptRow(event: Event, now: Now, out: TaggedRows): Option[KeptRow] = {
    counts.add(Counts.Rows, 1)
    if (event.at != Time.None) Some(new KeptRow(event.at, layout.bufferedRow(event.row).copy()))
    else {
      panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      None
    }
  }

  private def save(store: SlotStore, state: KeptRows, now: Now): Unit = {
    dropRows(state, now)
    if (state.rows.isEmpty && state.timerAt == Long.MaxValue) store.remove(0)
    else {
      state.setTimer(due(state, now), store)
      store.put(0, codec.write(state))
    }
  }
}
