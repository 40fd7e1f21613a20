package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.TaggedRows
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, Now, RowBytes, Time}

/** Operations that all kinds of windows share: opening, adding rows, firing, expiring, encoding. */
final class Panes(val spec: WindowingSpec, val aggregates: Aggregates, val counts: Counts,
    val layout: WindowLayout) {
  // The successor window takes over the content, so keep it after the trigger has finished.
  private val keepsContent = spec.kind.isInstanceOf[Reset]
  val fingerprint: Int = 31 * spec.text.hashCode + aggregates.fingerprint
  private val codec = new WindowStateCodec(spec.trigger, aggregates, fingerprint, keepsContent)
  private val retracting = spec.mode == PaneMode.Retracting

  def open(start: Long, end: Long, number: Long, now: Now): WindowState = {
    val window = new WindowState(start, end, number, aggregates.create(), spec.trigger.start)
    window.passed = now.watermark >= end
    counts.add(Counts.OpenWindows, 1)
    window
  }

  def fold(window: WindowState, event: Event): Unit = {
    if (event.buffer == null) aggregates.update(window.buffer, event.row)
    else aggregates.merge(window.buffer, event.buffer)
    window.rows += event.rows
    window.unfired += event.rows
    window.added += event.rows
    window.newest = math.max(window.newest, event.at)
    counts.add(Counts.Assigned, event.rows)
  }

  /** Emits a late row; `window` has the bounds of its window. */
  def emitLate(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: TaggedRows): Unit =
    out.late(event, now, reason, window.map { case (start, end) => layout.bounds(start, end, null) }.orNull)

  def emit(key: InternalRow, pane: Pane, retraction: Boolean, out: TaggedRows): Unit = {
    out.emit(0, layout.paneRow(key, pane, retraction))
    counts.add(if (retraction) Counts.Retractions else Counts.Panes, 1)
  }

  /** Passes new rows to the trigger and fires if it does. */
  def afterRows(
      key: InternalRow, window: WindowState, now: Now, out: TaggedRows): Unit = if (window.added > 0) {
    notifyTrigger(window, now)
    fireIfTriggered(key, window, if (window.passed) PaneTiming.Late else PaneTiming.Early, now, out)
  }

  /** Passes new rows to the trigger. */
  def notifyTrigger(window: WindowState, now: Now): Unit = {
    if (!window.closed && window.added > 0)
      window.trigger = spec.trigger.add(window.trigger, window.added, now.clock)
    window.added = 0
  }

  /** Fires the on-time pane, if the trigger allows it, when the watermark reaches the window's end. */
  def onEndPassed(
      key: InternalRow, window: WindowState, now: Now, out: TaggedRows): Unit = if (!window.passed) {
    window.passed = true
    fireIfTriggered(key, window, PaneTiming.OnTime, now, out)
  }

  def fireIfTriggered(key: InternalRow, window: WindowState, timing: Byte, now: Now, out: TaggedRows): Unit =
    if (!window.closed && spec.trigger.shouldFire(window.trigger, window.passed, now.clock))
      fire(key, window, timing, now, out)

  /** Handles a timer: the watermark may have reached the end, or the trigger's deadline. */
  def onTimer(key: InternalRow, window: WindowState, now: Now, out: TaggedRows): Unit =
    if (now.watermark >= window.end && !window.passed) onEndPassed(key, window, now, out)
    else if (!isExpired(window, now)) fireIfDue(key, window, now, out)

  /** Fires if the trigger's deadline has passed and it fires. */
  def fireIfDue(key: InternalRow, window: WindowState, now: Now, out: TaggedRows): Unit =
    if (!window.closed && spec.trigger.deadline(window.trigger) <= now.clock) {
      fireIfTriggered(key, window, if (window.passed) PaneTiming.Late else PaneTiming.Early, now, out)
    }

  /** Turns a window into its successor, which takes over the content. */
  def startNext(window: WindowState, number: Long): Unit = {
    window.number = number
    window.index = 0
    window.passed = false
    window.closed = false
    window.trigger = spec.trigger.start
    window.last = null
  }

  /** Counts a window that ends; rows that no pane has emitted are dropped. */
  def expire(window: WindowState): Unit = {
    counts.add(Counts.Dropped, window.unfired)
    counts.add(Counts.Emitted, window.rows - window.unfired)
    counts.add(Counts.OpenWindows, -1)
  }

  /** Next timer of a window, in milliseconds of the step's time. */
  private def next(window: WindowState, now: Now, visited: Long): Long = {
    val end = if (!window.passed) window.end else Time.plus(window.end, lateness(window))
    if (!spec.byClock) Time.millis(end)
    else if (spec.eager) visited - 1
    else {
      val wanted = if (window.closed) Long.MaxValue else spec.trigger.deadline(window.trigger)
      // A passed deadline was already checked; another part of the trigger decides.
      val deadline = if (wanted <= now.clock) Long.MaxValue else wanted
      val look = if (spec.clockTime) end else Time.plus(now.clock, spec.trigger.period)
      Time.millis(math.min(deadline, look))
    }
  }

  /** Sets a timer unless an earlier one exists; `visited` is the millisecond of the current timer. */
  def scheduleTimer(window: WindowState, store: SlotStore, now: Now, visited: Long): Unit = window
    .setTimer(next(window, now, visited), store)

  /** `visited` for calls outside a timer: a timer just before it is due at once. */
  def outsideTimer(now: Now): Long = Time.millis(now.clock) + 1
  def lateness(window: WindowState): Long = if (window.end >= Time.End) 0 else spec.lateness
  def isExpired(window: WindowState, now: Now): Boolean = now.watermark >=
    Time.plus(window.end, lateness(window))
  def write(window: WindowState): Array[Byte] = codec.write(window)
  def read(bytes: Array[Byte]): WindowState = codec.read(bytes)

  def writeAll(windows: Iterable[WindowState], out: Output): Unit = {
    out.writeVarInt(windows.size, true)
    windows.foreach(window => RowBytes.write(write(window), out))
  }
  def readAll(in: Input): Seq[WindowState] = Vector.fill(in.readVarInt(true))(read(RowBytes.read(in)))

  private def fire(key: InternalRow, window: WindowState, timing: Byte, now: Now, out: TaggedRows): Unit = {
    retract(key, window, out)
    val values = aggregates.result(window.buffer, key).getBytes
    val pane = Pane(window.start, window.end, window.number, window.newest, window.index, timing, values)
    emit(key, pane, retraction = false, out)
    if (retracting) window.last = pane
    window.index += 1
    window.unfired = 0
    if (spec.mode == PaneMode.Discarding) window.buffer = aggregates.create()
    spec.trigger.afterFiring(window.trigger, window.passed, now.clock) match {
      case Some(state) => window.trigger = state
      case None => close(window)
    }
  }

  private def close(window: WindowState): Unit = {
    window.closed = true
    if (!keepsContent) window.buffer = null
  }

  private def retract(key: InternalRow, window: WindowState, out: TaggedRows): Unit = if (retracting) {
    val stale = window.pending ++ Option(window.last)
    stale.foreach(emit(key, _, retraction = true, out))
    window.pending = Nil
    window.last = null
  }
}
