package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, Now, Time}

/** What all kinds of windows share: opening, folding, asking the trigger, firing, expiring, keeping. */
final class Panes(val spec: WindowingSpec, val aggregates: Aggregates, val counts: Counts) {
  // A window whose content another takes over keeps it when its trigger has finished.
  private val carries = spec.kind.isInstanceOf[Reset]
  val fingerprint: Int = 31 * spec.text.hashCode + aggregates.fingerprint
  private val codec = new WindowStateCodec(spec.trigger, aggregates, fingerprint, carries)
  private val retracting = spec.mode == PaneMode.Retracting

  def open(start: Long, end: Long, number: Long, now: Now): WindowState = {
    val cell = new WindowState(start, end, number, aggregates.create(), spec.trigger.start)
    cell.passed = now.watermark >= end
    counts.add(Counts.Windows, 1)
    cell
  }

  def fold(cell: WindowState, event: Event): Unit = {
    if (event.buffer == null) aggregates.update(cell.buffer, event.row)
    else aggregates.merge(cell.buffer, event.buffer)
    cell.rows += event.rows
    cell.fresh += event.rows
    cell.added += event.rows
    cell.newest = math.max(cell.newest, event.at)
    counts.add(Counts.Placed, event.rows)
  }

  /** Tells the trigger of the rows that came in and asks it once. */
  def settle(key: InternalRow, cell: WindowState, now: Now, out: WindowEmitter): Unit = if (cell.added > 0) {
    tell(cell, now)
    ask(key, cell, if (cell.passed) PaneTiming.Late else PaneTiming.Early, now, out)
  }

  /** Tells the trigger of the rows that came in. */
  def tell(cell: WindowState, now: Now): Unit = {
    if (!cell.closed && cell.added > 0) cell.trigger = spec.trigger.add(cell.trigger, cell.added, now.clock)
    cell.added = 0
  }

  /** The watermark has reached the window's end: its on-time pane, if the trigger wants one. */
  def pass(key: InternalRow, cell: WindowState, now: Now, out: WindowEmitter): Unit = if (!cell.passed) {
    cell.passed = true
    ask(key, cell, PaneTiming.OnTime, now, out)
  }

  def ask(key: InternalRow, cell: WindowState, timing: Byte, now: Now, out: WindowEmitter): Unit =
    if (!cell.closed && spec.trigger.fires(cell.trigger, cell.passed, now.clock)) fire(key, cell, timing, now, out)

  /** A timer has come: the watermark may have reached the end, or the trigger's deadline be there. */
  def visit(key: InternalRow, cell: WindowState, now: Now, out: WindowEmitter): Unit =
    if (now.watermark >= cell.end && !cell.passed) pass(key, cell, now, out)
    else if (!expired(cell, now)) due(key, cell, now, out)

  /** Asks the trigger if its deadline has come. */
  def due(key: InternalRow, cell: WindowState, now: Now, out: WindowEmitter): Unit =
    if (!cell.closed && spec.trigger.deadline(cell.trigger) <= now.clock) {
      ask(key, cell, if (cell.passed) PaneTiming.Late else PaneTiming.Early, now, out)
    }

  /** The window after a window that takes over its content. */
  def renew(cell: WindowState, number: Long): Unit = {
    cell.number = number
    cell.index = 0
    cell.passed = false
    cell.closed = false
    cell.trigger = spec.trigger.start
    cell.last = null
  }

  /** A window that is over: what no pane has shown is lost. */
  def expire(cell: WindowState): Unit = {
    counts.add(Counts.Lost, cell.fresh)
    counts.add(Counts.Settled, cell.rows - cell.fresh)
    counts.add(Counts.Expired, 1)
  }

  /** When a window wants to be visited again, in milliseconds of the step's time. */
  private def next(cell: WindowState, now: Now, visited: Long): Long = {
    val end = if (!cell.passed) cell.end else Time.plus(cell.end, lateness(cell))
    if (!spec.byClock) Time.millis(end)
    else if (spec.eager) visited - 1
    else {
      val wanted = if (cell.closed) Long.MaxValue else spec.trigger.deadline(cell.trigger)
      // A deadline behind the clock has been asked about already; it waits for another part of its trigger.
      val deadline = if (wanted <= now.clock) Long.MaxValue else wanted
      val look = if (spec.clockTime) end else Time.plus(now.clock, spec.trigger.period)
      Time.millis(math.min(deadline, look))
    }
  }

  /** Sets a timer unless one comes early enough already; `visited` is the millisecond of the timer that came. */
  def arm(cell: WindowState, store: SlotStore, now: Now, visited: Long): Unit = {
    val at = next(cell, now, visited)
    if (at < cell.wake) {
      cell.wake = at
      store.setTimer(at)
    }
  }

  /** For a call that no timer brought: a timer set just before it is due already. */
  def unvisited(now: Now): Long = Time.millis(now.clock) + 1

  def lateness(cell: WindowState): Long = if (cell.end >= Time.End) 0 else spec.lateness
  def expired(cell: WindowState, now: Now): Boolean = now.watermark >= Time.plus(cell.end, lateness(cell))
  def write(cell: WindowState): Array[Byte] = codec.write(cell)
  def read(bytes: Array[Byte]): WindowState = codec.read(bytes)

  private def fire(key: InternalRow, cell: WindowState, timing: Byte, now: Now, out: WindowEmitter): Unit = {
    retract(key, cell, out)
    val values = aggregates.result(cell.buffer, key).getBytes
    val pane = Pane(cell.start, cell.end, cell.number, cell.newest, cell.index, timing, values)
    out.pane(key, pane, retraction = false)
    counts.add(Counts.Panes, 1)
    if (retracting) cell.last = pane
    cell.index += 1
    cell.fresh = 0
    if (spec.mode == PaneMode.Discarding) cell.buffer = aggregates.create()
    spec.trigger.fired(cell.trigger, cell.passed, now.clock) match {
      case Some(state) => cell.trigger = state
      case None => close(cell)
    }
  }

  private def close(cell: WindowState): Unit = {
    cell.closed = true
    if (!carries) cell.buffer = null
  }

  private def retract(key: InternalRow, cell: WindowState, out: WindowEmitter): Unit = if (retracting) {
    val stale = cell.pending ++ Option(cell.last)
    stale.foreach(out.pane(key, _, retraction = true))
    counts.add(Counts.Retractions, stale.size)
    cell.pending = Nil
    cell.last = null
  }
}
