package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.{OrderedBuffer, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** What a key with windows that depend on order remembers. */
final class OrderedState {
  /** WindowRows taken so far, and the number of the next window. */
  var taken: Long = 0
  var number: Long = 0
  /** When a timer comes, in milliseconds. */
  var wake: Long = Long.MaxValue
  /** Open windows, the oldest first. */
  val open: mutable.ArrayBuffer[WindowState] = mutable.ArrayBuffer.empty
  /** WindowRows that wait for the watermark. */
  val backlog = new OrderedBuffer
}

/** The state as bytes, in slot 0 of its key; rows that wait may be in slots after it. */
final class OrderedCodec(panes: Panes) {
  private val out = new Output(1024, -1)

  def write(state: OrderedState, store: SlotStore): Array[Byte] = {
    out.clear()
    out.writeVarLong(state.taken, true)
    out.writeVarLong(state.number, true)
    out.writeLong(state.wake)
    out.writeVarInt(state.open.size, true)
    state.open.foreach { cell =>
      val bytes = panes.write(cell)
      out.writeVarInt(bytes.length, true)
      out.writeBytes(bytes)
    }
    state.backlog.write(out, store)
    out.toBytes
  }

  def read(bytes: Array[Byte]): OrderedState = {
    val state = new OrderedState
    if (bytes != null) {
      val in = new Input(bytes)
      state.taken = in.readVarLong(true)
      state.number = in.readVarLong(true)
      state.wake = in.readLong()
      (0 until in.readVarInt(true)).foreach(_ => state.open += panes.read(in.readBytes(in.readVarInt(true))))
      state.backlog.read(in, bytes)
    }
    state
  }
}

/**
 * Windows that depend on the order of rows. In event-time order a row waits until the watermark is past it, and one
 * behind the watermark is late; in arrival order rows are taken as they come. Closing is the on-time pane, and at the
 * end of the input what is open closes.
 */
abstract class OrderedWindows(panes: Panes, layout: WindowLayout) extends WindowLogic {
  protected val spec: WindowingSpec = panes.spec
  private val codec = new OrderedCodec(panes)
  private val arrival = spec.arrival || spec.clockTime
  /** WindowRows of this call that went into windows. */
  private var folded = 0L

  /** One row, in order: opens, fills and closes windows. */
  protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit

  /** The watermark has moved, and all rows before it are taken. */
  protected def advance(key: InternalRow, state: OrderedState, now: Now, out: WindowEmitter): Unit = ()

  /** The event time at which an open window wants to be looked at. */
  protected def due(state: OrderedState): Long = Long.MaxValue

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit = {
    val state = codec.read(store.get(0))
    release(key, store, state, now, out)
    var came, waits = 0L
    while (events.hasNext) {
      val event = events.next()
      came += 1
      if (event.time.isEmpty) late(event, None, now, LateReason.NoEventTime, out)
      else {
        val time = event.time.get
        if (time < 0 || (!arrival && time < now.watermark)) late(event, None, now, LateReason.TooLate, out)
        else if (arrival) take(key, state, event, now, out)
        else {
          state.backlog.add(time, layout.waiting(event.row))
          waits += 1
        }
      }
    }
    panes.counts.add(Counts.Rows, came)
    panes.counts.add(Counts.Pending, waits)
    settle(key, store, state, now, panes.unvisited(now), out)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit = {
    val state = codec.read(store.get(0))
    if (state.wake <= due) state.wake = Long.MaxValue
    release(key, store, state, now, out)
    if (spec.byClock) state.open.filter(_.added == 0).foreach(panes.due(key, _, now, out))
    settle(key, store, state, now, due, out)
  }

  /** Takes a row into the open windows; one whose trigger has finished takes no more. */
  protected def place(event: Event, state: OrderedState, now: Now, out: WindowEmitter): Unit = {
    val (cells, time) = (state.open, event.time.get)
    var taken = false
    var i = 0
    while (i < cells.size) {
      val cell = cells(i)
      if (!cell.closed) {
        panes.fold(cell, event)
        if (time < cell.start) cell.start = time
        if (time > cell.end) cell.end = time
        taken = true
      }
      i += 1
    }
    if (taken || cells.isEmpty) folded += 1
    else late(event, Some((cells.last.start, cells.last.end)), now, LateReason.Closed, out)
  }

  protected def open(state: OrderedState, number: Long, event: Event, now: Now): WindowState = {
    val time = event.time.get
    val cell = panes.open(time, time, number, now)
    cell.passed = false
    state.open += cell
    cell
  }

  /** Closing is to these windows what the watermark's passing is to others. */
  protected def close(key: InternalRow, state: OrderedState, cell: WindowState, now: Now, out: WindowEmitter): Unit = {
    panes.tell(cell, now)
    panes.pass(key, cell, now, out)
    panes.expire(cell)
    state.open -= cell
  }

  protected def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: WindowEmitter): Unit = {
    panes.counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }

  private def release(key: InternalRow, store: SlotStore, state: OrderedState, now: Now, out: WindowEmitter): Unit = {
    if (state.backlog.earliest < now.watermark) {
      val ready = state.backlog.release(now.watermark, store)
      panes.counts.add(Counts.Pending, -ready.length)
      ready.foreach(held => take(key, state, held.event, now, out))
    }
    advance(key, state, now, out)
    if (now.ended) state.open.toVector.foreach(close(key, state, _, now, out))
  }

  private def settle(
      key: InternalRow, store: SlotStore, state: OrderedState, now: Now, visited: Long, out: WindowEmitter): Unit = {
    state.open.foreach(panes.settle(key, _, now, out))
    panes.counts.add(Counts.Folded, folded)
    folded = 0
    arm(store, state, now, visited)
    store.put(0, codec.write(state, store))
  }

  private def arm(store: SlotStore, state: OrderedState, now: Now, visited: Long): Unit = {
    val earliest = state.backlog.earliest
    val first = if (earliest == Long.MaxValue) Long.MaxValue else Math.floorDiv(earliest, 1000L) + 1
    val end = if (state.open.isEmpty) Long.MaxValue else Time.millis(Time.End)
    val byTime = Seq(first, end, Time.millis(due(state))).min
    val at =
      if (spec.byClock && spec.eager && byTime != Long.MaxValue) visited - 1
      else if (!spec.byClock || spec.clockTime) math.min(byTime, Time.millis(deadline(state, now)))
      else if (byTime == Long.MaxValue) Long.MaxValue
      else Time.millis(math.min(deadline(state, now), Time.plus(now.clock, spec.trigger.period)))
    if (at < state.wake) {
      state.wake = at
      store.setTimer(at)
    }
  }

  private def deadline(state: OrderedState, now: Now): Long =
    state.open.filterNot(_.closed).map(cell => spec.trigger.deadline(cell.trigger)).filter(_ > now.clock)
      .minOption.getOrElse(Long.MaxValue)
}
