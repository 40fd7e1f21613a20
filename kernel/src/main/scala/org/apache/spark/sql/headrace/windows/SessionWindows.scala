package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** Encodes the open sessions of a key in slot 0: they are few, and a row may touch any of them. */
final class SessionCodec(panes: Panes) {
  private val out = new Output(512, -1)

  def write(open: Iterable[WindowState]): Array[Byte] = {
    out.clear()
    panes.writeAll(open, out)
    out.toBytes
  }

  /** Decodes the sessions, earliest first. */
  def read(bytes: Array[Byte]): mutable.ArrayBuffer[WindowState] = {
    val open = mutable.ArrayBuffer.empty[WindowState]
    if (bytes != null) open ++= panes.readAll(new Input(bytes))
    open
  }
}

/** Session windows: a row's own window is `[t, t + gap)`, and overlapping windows merge. */
final class SessionWindows(panes: Panes, gap: Long) extends KeyedLogic {
  private val spec = panes.spec
  private val codec = new SessionCodec(panes)

  /** Open sessions of the current key, earliest first, and those changed in this call. */
  private var open = mutable.ArrayBuffer.empty[WindowState]
  private val touched = mutable.Set.empty[WindowState]
  private var latest: WindowState = _

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    open = codec.read(store.get(0))
    touched.clear()
    latest = null
    open.filterInPlace(window => !applyWatermark(key, window, now, out))
    var count, processed = 0L
    while (events.hasNext) {
      val event = events.next()
      count += 1
      if (event.time.isEmpty) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else if (assign(event, event.time.get, now, out)) processed += 1
    }
    panes.counts.add(Counts.Rows, count)
    panes.counts.add(Counts.Processed, processed)
    open.foreach { window =>
      if (touched(window)) {
        panes.afterRows(key, window, now, out)
        panes.scheduleTimer(window, store, now, panes.outsideTimer(now))
      }
    }
    save(store)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    open = codec.read(store.get(0))
    open.filterInPlace { window =>
      window.onTimer(due)
      panes.onTimer(key, window, now, out)
      val over = panes.isExpired(window, now)
      if (over) panes.expire(window) else panes.scheduleTimer(window, store, now, due)
      !over
    }
    save(store)
  }

  private def save(store: SlotStore): Unit =
    if (open.isEmpty) store.remove(0) else store.put(0, codec.write(open))

  /** Applies the watermark to a session; true if the session's lateness is over. */
  private def applyWatermark(key: InternalRow, window: WindowState, now: Now, out: TaggedRows): Boolean =
    now.watermark >= window.end && {
      if (!window.passed) touched += window
      panes.onEndPassed(key, window, now, out)
      val over = panes.isExpired(window, now)
      if (over) panes.expire(window)
      over
    }

  /** Adds a row to its session; true if the session took it. */
  private def assign(event: Event, time: Long, now: Now, out: TaggedRows): Boolean = {
    // The sessions that overlap the row's own window are adjacent: [from, until).
    val ownEnd = Time.plus(time, gap)
    var until = open.size
    while (until > 0 && open(until - 1).start >= ownEnd) until -= 1
    var from = until
    while (from > 0 && open(from - 1).end > time) from -= 1
    val start = if (from < until) math.min(time, open(from).start) else time
    val end = if (from < until) math.max(ownEnd, open(until - 1).end) else ownEnd
    if (time < 0 || now.watermark >= Time.plus(end, spec.lateness)) {
      // A row before 1970 belongs to no session.
      val bounds = if (time < 0) (time, ownEnd) else (start, end)
      panes.emitLate(event, Some(bounds), now, LateReason.TooLate, out)
      false
    } else {
      val window = sessionFor(from, until, start, end, now)
      if (window ne latest) touched += window
      latest = window
      if (window.closed) panes.emitLate(event, Some((start, end)), now, LateReason.Closed, out)
      else panes.fold(window, event)
      !window.closed
    }
  }

  /** Returns the session of these bounds; merges the sessions it consists of. */
  private def sessionFor(from: Int, until: Int, start: Long, end: Long, now: Now): WindowState =
    if (from == until) {
      val window = panes.open(start, end, 0, now)
      open.insert(from, window)
      window
    } else {
      val first = open(from)
      if (until - from > 1 || first.start != start || first.end != end) {
        extend(open.slice(from, until).toSeq, start, end, now)
        open.remove(from + 1, until - from - 1)
      }
      first
    }

  /** Changes the bounds of a session: its pane index restarts and its emitted panes are to be retracted. */
  private def extend(parts: Seq[WindowState], start: Long, end: Long, now: Now): Unit = {
    val window = parts.head
    if (window.last != null || window.pending.nonEmpty || parts.size > 1) {
      window.pending = parts.flatMap(part => part.pending ++ Option(part.last)).toList
      window.last = null
    }
    if (parts.size > 1) combine(window, parts.tail)
    window.start = start
    window.end = end
    window.index = 0
    window.passed = now.watermark >= end
    if (!window.passed && !window.closed) window.trigger = spec.trigger.reopen(window.trigger)
  }

  private def combine(window: WindowState, others: Seq[WindowState]): Unit = {
    val closed = window.closed || others.exists(_.closed)
    if (closed) window.buffer = null
    else {
      others.foreach(other => panes.aggregates.merge(window.buffer, panes.aggregates.write(other.buffer)))
      window.trigger = spec.trigger.merge(window.trigger +: others.map(_.trigger))
    }
    window.closed = closed
    window.rows += others.map(_.rows).sum
    window.unfired += others.map(_.unfired).sum
    window.added += others.map(_.added).sum
    window.newest = (window.newest +: others.map(_.newest)).max
    window.timerAt = (window.timerAt +: others.map(_.timerAt)).min
    panes.counts.add(Counts.OpenWindows, -others.size)
  }
}
