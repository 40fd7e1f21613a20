/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import scala.collection.mutable

/** A row of a key: waiting (`index` 0, nothing shown), or shown so many times. */
final class TrailingRow(val time: Long, val row: UnsafeRow, var index: Int, var last: Array[Byte]) {
  /** Emitted for the first time, or again, by this call. */
  var wanted: Boolean = false
  def shown: Boolean = index > 0
}

object TrailingRow {
  def write(entry: TrailingRow): Array[Byte] = {
    val out = new Output(32 + entry.row.getSizeInBytes, -1)
    out.writeLong(entry.time)
    out.writeVarInt(entry.index, true)
    out.writeInt(entry.row.numFields)
    bytes(out, entry.row.getBytes)
    bytes(out, if (entry.last == null) Array.emptyByteArray else entry.last)
    out.toBytes
  }

  def read(stored: Array[Byte]): TrailingRow = {
    val in = new Input(stored)
    val (time, index) = (in.readLong(), in.readVarInt(true))
    val row = new UnsafeRow(in.readInt())
    val own = in.readBytes(in.readVarInt(true))
    row.pointTo(own, own.length)
    val last = in.readBytes(in.readVarInt(true))
    new TrailingRow(time, row, index, if (last.isEmpty) null else last)
  }

  private def bytes(out: Output, value: Array[Byte]): Unit = {
    out.writeVarInt(value.length, true)
    out.writeBytes(value)
  }
}

/**
 * One result per row over `(t - size, t]`, when the watermark is past t. A late row inside the lateness gives its own
 * result and those of the rows in `[t, t + size)` again.
 */
final class TrailingWindows(panes: Panes, size: Long) extends Logic {
  private val spec = panes.spec
  private val counts = panes.counts

  override def rows(key: InternalRow, store: Store, events: Iterator[Event], now: Now, out: Emitter): Unit = {
    val kept = mutable.ArrayBuffer.from(store.waiting.map(TrailingRow.read))
    release(key, kept, now, out)
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      event.time match {
        case None => late(event, None, now, Reason.NoEventTime, out)
        case Some(time) if time < 0 || tooLate(time, now) =>
          late(event, Some((time - size, time)), now, Reason.TooLate, out)
        case Some(time) =>
          counts.add(Counts.Folded, 1)
          counts.add(Counts.Placed, 1)
          kept += new TrailingRow(time, event.row.copy().asInstanceOf[UnsafeRow], 0, null)
          if (time < now.watermark) touch(kept, time)
      }
    }
    release(key, kept, now, out)
    keep(store, kept, now)
  }

  override def visit(key: InternalRow, store: Store, due: Long, now: Now, out: Emitter): Unit = {
    val kept = mutable.ArrayBuffer.from(store.waiting.map(TrailingRow.read))
    release(key, kept, now, out)
    keep(store, kept, now)
  }

  private def tooLate(time: Long, now: Now): Boolean =
    now.watermark != Time.None && Time.plus(time, spec.lateness) < now.watermark

  private def touch(kept: Iterable[TrailingRow], time: Long): Unit =
    kept.foreach(other => if (other.shown && other.time >= time && other.time < time + size) other.wanted = true)

  private def release(key: InternalRow, kept: mutable.ArrayBuffer[TrailingRow], now: Now, out: Emitter): Unit = {
    val inOrder = kept.toVector.sortBy(_.time)
    inOrder.filter(entry => entry.wanted || (!entry.shown && entry.time < now.watermark)).foreach { entry =>
      emit(key, entry, inOrder.iterator.filter(o => o.time > entry.time - size && o.time <= entry.time), out)
      entry.wanted = false
    }
  }

  private def emit(key: InternalRow, entry: TrailingRow, over: Iterator[TrailingRow], out: Emitter): Unit = {
    val buffer = panes.aggregates.create()
    over.foreach(other => panes.aggregates.update(buffer, other.row))
    val values = panes.aggregates.result(buffer, key).getBytes
    val pane = Emitted(entry.time - size, entry.time, 0, entry.time, entry.index, Timing.OnTime, values)
    if (entry.last != null) {
      out.trailing(key, entry.row, pane.copy(index = entry.index - 1, values = entry.last), retraction = true)
      counts.add(Counts.Retractions, 1)
    }
    out.trailing(key, entry.row, pane, retraction = false)
    counts.add(Counts.Panes, 1)
    entry.index += 1
    if (spec.mode == Mode.Retracting) entry.last = values
  }

  private def keep(store: Store, kept: mutable.ArrayBuffer[TrailingRow], now: Now): Unit = {
    val (over, rest) = kept.partition { entry =>
      now.watermark != Time.None && entry.shown &&
        Time.plus(Time.plus(entry.time, size), spec.lateness) <= now.watermark
    }
    counts.add(Counts.Settled, over.size)
    store.replace(rest.map(TrailingRow.write).toSeq)
    val times = rest.map(e => if (e.shown) Time.plus(e.time, size + spec.lateness) else e.time)
    if (times.nonEmpty) store.wake(math.max(Math.floorDiv(times.min, 1000L), Time.floor(now.watermark)) + 1)
  }

  private def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: Emitter): Unit = {
    counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }
}
