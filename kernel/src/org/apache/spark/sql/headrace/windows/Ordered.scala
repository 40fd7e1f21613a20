/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import scala.collection.mutable

/** What a key with windows that depend on order remembers, besides the rows that wait. */
final class OrderedState {
  /** Rows taken so far, and the number of the next window. */
  var taken: Long = 0
  var number: Long = 0
  /** The event time of the earliest row that waits. */
  var earliest: Long = Long.MaxValue
  /** When a timer comes, in milliseconds. */
  var wake: Long = Long.MaxValue
  /** Open windows, the oldest first. */
  val open: mutable.ArrayBuffer[Cell] = mutable.ArrayBuffer.empty
}

/** The state as bytes. */
final class OrderedCodec(panes: Panes) {
  private val out = new Output(256, -1)

  def write(state: OrderedState): Array[Byte] = {
    out.clear()
    Seq(state.taken, state.number, state.earliest, state.wake).foreach(out.writeLong)
    out.writeVarInt(state.open.size, true)
    state.open.foreach { cell =>
      val bytes = panes.write(cell)
      out.writeVarInt(bytes.length, true)
      out.writeBytes(bytes)
    }
    out.toBytes
  }

  def read(bytes: Array[Byte]): OrderedState = {
    val state = new OrderedState
    if (bytes != null) {
      val in = new Input(bytes)
      state.taken = in.readLong()
      state.number = in.readLong()
      state.earliest = in.readLong()
      state.wake = in.readLong()
      (0 until in.readVarInt(true)).foreach(_ => state.open += panes.read(in.readBytes(in.readVarInt(true))))
    }
    state
  }
}

/** A row that waits for the watermark, as bytes: its time and itself. */
object Waiting {
  def write(time: Long, row: InternalRow): Array[Byte] = {
    val unsafe = row.asInstanceOf[UnsafeRow]
    val out = new Output(16 + unsafe.getSizeInBytes)
    out.writeLong(time)
    out.writeInt(unsafe.numFields)
    out.writeBytes(unsafe.getBytes)
    out.toBytes
  }

  def time(bytes: Array[Byte]): Long = new Input(bytes).readLong()

  def read(bytes: Array[Byte]): Event = {
    val in = new Input(bytes)
    val time = in.readLong()
    val row = new UnsafeRow(in.readInt())
    val own = in.readBytes(bytes.length - 12)
    row.pointTo(own, own.length)
    Event(row, Some(time))
  }
}

/**
 * Windows that depend on the order of rows. In event-time order a row waits until the watermark is past it, and one
 * behind the watermark is late; in arrival order rows are taken as they come. Closing is the on-time pane, and at the
 * end of the input what is open closes.
 */
abstract class Ordered(panes: Panes) extends Logic {
  protected val spec: Spec = panes.spec
  private val codec = new OrderedCodec(panes)
  private val arrival = spec.arrival || spec.clockTime

  /** One row, in order: opens, fills and closes windows. */
  protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: Emitter): Unit

  /** The watermark has moved, and all rows before it are taken. */
  protected def advance(key: InternalRow, state: OrderedState, now: Now, out: Emitter): Unit = ()

  /** The event time at which an open window wants to be looked at. */
  protected def due(state: OrderedState): Long = Long.MaxValue

  override def rows(key: InternalRow, store: Store, events: Iterator[Event], now: Now, out: Emitter): Unit = {
    val state = codec.read(store.get(0))
    release(key, store, state, now, out)
    val waits = mutable.ArrayBuffer.empty[Array[Byte]]
    events.foreach { event =>
      panes.counts.add(Counts.Rows, 1)
      event.time match {
        case None => late(event, None, now, Reason.NoEventTime, out)
        case Some(time) if time < 0 || (!arrival && time < now.watermark) => late(event, None, now, Reason.TooLate, out)
        case Some(_) if arrival => take(key, state, event, now, out)
        case Some(time) =>
          waits += Waiting.write(time, event.row)
          state.earliest = math.min(state.earliest, time)
          panes.counts.add(Counts.Pending, 1)
      }
    }
    store.append(waits.toSeq)
    settle(key, store, state, now, panes.unvisited(now), out)
  }

  override def visit(key: InternalRow, store: Store, due: Long, now: Now, out: Emitter): Unit = {
    val state = codec.read(store.get(0))
    if (state.wake <= due) state.wake = Long.MaxValue
    release(key, store, state, now, out)
    if (spec.byClock) state.open.filter(_.added == 0).foreach(panes.due(key, _, now, out))
    settle(key, store, state, now, due, out)
  }

  /** Takes a row into these windows; one whose trigger has finished takes no more. */
  protected def place(event: Event, cells: Iterable[Cell], now: Now, out: Emitter): Unit = {
    val takers = cells.filterNot(_.closed)
    takers.foreach { cell =>
      panes.fold(cell, event)
      event.time.foreach { time =>
        cell.start = math.min(cell.start, time)
        cell.end = math.max(cell.end, time)
      }
    }
    if (takers.isEmpty && cells.nonEmpty) late(event, Some((cells.last.start, cells.last.end)), now, Reason.Closed, out)
    else panes.counts.add(Counts.Folded, 1)
  }

  protected def open(state: OrderedState, number: Long, event: Event, now: Now): Cell = {
    val time = event.time.get
    val cell = panes.open(time, time, number, now)
    cell.passed = false
    state.open += cell
    cell
  }

  /** Closing is to these windows what the watermark's passing is to others. */
  protected def close(key: InternalRow, state: OrderedState, cell: Cell, now: Now, out: Emitter): Unit = {
    panes.tell(cell, now)
    panes.pass(key, cell, now, out)
    panes.expire(cell)
    state.open -= cell
  }

  protected def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: Emitter): Unit = {
    panes.counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }

  private def release(key: InternalRow, store: Store, state: OrderedState, now: Now, out: Emitter): Unit = {
    if (state.earliest < now.watermark) {
      val (ready, rest) = store.waiting.toVector.partition(Waiting.time(_) < now.watermark)
      ready.sortBy(Waiting.time).foreach { bytes =>
        panes.counts.add(Counts.Pending, -1)
        take(key, state, Waiting.read(bytes), now, out)
      }
      store.replace(rest)
      state.earliest = if (rest.isEmpty) Long.MaxValue else rest.map(Waiting.time).min
    }
    advance(key, state, now, out)
    if (now.ended) state.open.toVector.foreach(close(key, state, _, now, out))
  }

  private def settle(
      key: InternalRow, store: Store, state: OrderedState, now: Now, visited: Long, out: Emitter): Unit = {
    state.open.foreach(panes.settle(key, _, now, out))
    arm(store, state, now, visited)
    store.put(0, codec.write(state))
  }

  private def arm(store: Store, state: OrderedState, now: Now, visited: Long): Unit = {
    val first = if (state.earliest == Long.MaxValue) Long.MaxValue else Math.floorDiv(state.earliest, 1000L) + 1
    val end = if (state.open.isEmpty) Long.MaxValue else Time.millis(Time.End)
    val byTime = Seq(first, end, Time.millis(due(state))).min
    val at =
      if (spec.byClock && spec.eager && byTime != Long.MaxValue) visited - 1
      else if (!spec.byClock || spec.clockTime) math.min(byTime, Time.millis(deadline(state, now)))
      else if (byTime == Long.MaxValue) Long.MaxValue
      else Time.millis(math.min(deadline(state, now), Time.plus(now.clock, spec.trigger.period)))
    if (at < state.wake) {
      state.wake = at
      store.wake(at)
    }
  }

  private def deadline(state: OrderedState, now: Now): Long =
    state.open.filterNot(_.closed).map(cell => spec.trigger.deadline(cell.trigger)).filter(_ > now.clock)
      .minOption.getOrElse(Long.MaxValue)
}
