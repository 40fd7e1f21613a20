package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{BufferedRow, OrderedBuffer, SlotStore, TimedState}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** State of a key with order-dependent windows. */
final class OrderedState extends TimedState {
  /** Number of rows processed, and number of the next window. */
  var taken: Long = 0
  var number: Long = 0

  /** Open windows, oldest first. */
  val open: mutable.ArrayBuffer[WindowState] = mutable.ArrayBuffer.empty
  val backlog = new OrderedBuffer
}

/** Encodes the state in slot 0; buffered rows may occupy further slots. */
final class OrderedCodec(panes: Panes) {
  private val out = new Output(1024, -1)

  def write(state: OrderedState, store: SlotStore): Array[Byte] = {
    out.clear()
    out.writeVarLong(state.taken, true)
    out.writeVarLong(state.number, true)
    out.writeLong(state.timerAt)
    panes.writeAll(state.open, out)
    state.backlog.write(out, store)
    out.toBytes
  }

  def read(bytes: Array[Byte]): OrderedState = {
    val state = new OrderedState
    if (bytes != null) {
      val in = new Input(bytes)
      state.taken = in.readVarLong(true)
      state.number = in.readVarLong(true)
      state.timerAt = in.readLong()
      state.open ++= panes.readAll(in)
      state.backlog.read(in, bytes)
    }
    state
  }
}

/**
 * Order-dependent windows. In event-time order a row is buffered until the watermark passes it, and a row
 * behind the watermark is late; in arrival order rows are processed at once. Closing a window fires its
 * on-time pane; the end of input closes all windows.
 */
abstract class OrderedWindows(panes: Panes) extends KeyedLogic {
  protected val spec: WindowingSpec = panes.spec
  private val codec = new OrderedCodec(panes)
  private val arrival = spec.arrival || spec.clockTime

  /** Rows added to windows in this call. */
  private var processed = 0L

  /** Processes one row in order: opens, fills and closes windows. */
  protected def onRow(key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit

  /** Called when the watermark has advanced and all earlier rows are processed. */
  protected def advance(key: InternalRow, state: OrderedState, now: Now, out: TaggedRows): Unit = ()

  /** Event time at which an open window needs a call. */
  protected def due(state: OrderedState): Long = Long.MaxValue

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    release(key, store, state, now, out)
    var count, buffered = 0L
    while (events.hasNext) {
      val event = events.next()
      count += 1
      if (event.time.isEmpty) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else {
        val time = event.time.get
        if (time < 0 || (!arrival && time < now.watermark)) panes
          .emitLate(event, None, now, LateReason.TooLate, out)
        else if (arrival) onRow(key, state, event, now, out)
        else {
          state.backlog.add(time, panes.layout.bufferedRow(event.row))
          buffered += 1
        }
      }
    }
    panes.counts.add(Counts.Rows, count)
    panes.counts.add(Counts.Buffered, buffered)
    afterRows(key, store, state, now, panes.outsideTimer(now), out)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    state.onTimer(due)
    release(key, store, state, now, out)
    if (spec.byClock) state.open.filter(_.added == 0).foreach(panes.fireIfDue(key, _, now, out))
    afterRows(key, store, state, now, due, out)
  }

  /** Adds a row to the open windows whose triggers have not finished. */
  protected def assign(event: Event, state: OrderedState, now: Now, out: TaggedRows): Unit = {
    val (windows, time) = (state.open, event.time.get)
    var taken = false
    var i = 0
    while (i < windows.size) {
      val window = windows(i)
      if (!window.closed) {
        panes.fold(window, event)
        if (time < window.start) window.start = time
        if (time > window.end) window.end = time
        taken = true
      }
      i += 1
    }
    if (taken || windows.isEmpty) processed += 1
    else panes.emitLate(event, Some((windows.last.start, windows.last.end)), now, LateReason.Closed, out)
  }

  protected def open(state: OrderedState, number: Long, event: Event, now: Now): WindowState = {
    val time = event.time.get
    val window = panes.open(time, time, number, now)
    window.passed = false
    state.open += window
    window
  }

  /** Closes a window; this is its on-time firing. */
  protected def close(
      key: InternalRow, state: OrderedState, window: WindowState, now: Now, out: TaggedRows): Unit = {
    panes.notifyTrigger(window, now)
    panes.onEndPassed(key, window, now, out)
    panes.expire(window)
    state.open -= window
  }

  private def release(
      key: InternalRow, store: SlotStore, state: OrderedState, now: Now, out: TaggedRows): Unit = {
    if (state.backlog.earliest < now.watermark) {
      val ready = state.backlog.release(now.watermark, store)
      panes.counts.add(Counts.Buffered, -ready.length)
      val rows = if (panes.layout.isChangelog) withoutRemoved(ready, now, out) else ready
      rows.foreach(entry => onRow(key, state, entry.event, now, out))
    }
    advance(key, state, now, out)
    if (now.ended) state.open.toVector.foreach(close(key, state, _, now, out))
  }

  private def withoutRemoved(ready: Array[BufferedRow], now: Now, out: TaggedRows): Array[BufferedRow] = {
    val (rows, unknown) = panes.layout.changes.cancel(ready)
    unknown.foreach(entry => panes.emitLate(entry.event, None, now, LateReason.TooLate, out))
    panes.counts.add(Counts.Superseded, ready.length - rows.length - unknown.length)
    rows
  }

  private def afterRows(key: InternalRow, store: SlotStore, state: OrderedState, now: Now, visited: Long,
      out: TaggedRows): Unit = {
    state.open.foreach(panes.afterRows(key, _, now, out))
    panes.counts.add(Counts.Processed, processed)
    processed = 0
    scheduleTimer(store, state, now, visited)
    store.put(0, codec.write(state, store))
  }

  private def scheduleTimer(store: SlotStore, state: OrderedState, now: Now, visited: Long): Unit = {
    val end = if (state.open.isEmpty) Long.MaxValue else Time.millis(Time.End)
    val byTime = Seq(Time.after(state.backlog.earliest), end, Time.millis(due(state))).min
    val at =
      if (spec.byClock && spec.eager && byTime != Long.MaxValue) visited - 1
      else if (!spec.byClock || spec.clockTime) math.min(byTime, Time.millis(deadline(state, now)))
      else if (byTime == Long.MaxValue) Long.MaxValue
      else Time.millis(math.min(deadline(state, now), Time.plus(now.clock, spec.trigger.period)))
    state.setTimer(at, store)
  }

  private def deadline(state: OrderedState, now: Now): Long = state.open.filterNot(_.closed)
    .map(window => spec.trigger.deadline(window.trigger)).filter(_ > now.clock).minOption
    .getOrElse(Long.MaxValue)
}
