package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** The open sessions of a key as bytes, in slot 0: there are few, and a row may touch any of them. */
final class SessionCodec(panes: Panes) {
  private val out = new Output(512, -1)

  def write(open: Iterable[WindowState]): Array[Byte] = {
    out.clear()
    out.writeVarInt(open.size, true)
    open.foreach { cell =>
      val bytes = panes.write(cell)
      out.writeVarInt(bytes.length, true)
      out.writeBytes(bytes)
    }
    out.toBytes
  }

  /** The sessions, the earliest first. */
  def read(bytes: Array[Byte]): mutable.ArrayBuffer[WindowState] = {
    val open = mutable.ArrayBuffer.empty[WindowState]
    if (bytes != null) {
      val in = new Input(bytes)
      (0 until in.readVarInt(true)).foreach(_ => open += panes.read(in.readBytes(in.readVarInt(true))))
    }
    open
  }
}

/** SessionWindows: a row's own window is `[t, t + gap)`, and windows that overlap are one. */
final class SessionWindows(panes: Panes, gap: Long) extends WindowLogic {
  private val spec = panes.spec
  private val codec = new SessionCodec(panes)

  /** The open sessions of the key at hand, the earliest first, and those among them that this call has changed. */
  private var open = mutable.ArrayBuffer.empty[WindowState]
  private val touched = mutable.Set.empty[WindowState]
  private var latest: WindowState = _

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit = {
    open = codec.read(store.get(0))
    touched.clear()
    latest = null
    open.filterInPlace(cell => !overtaken(key, cell, now, out))
    var came, folded = 0L
    while (events.hasNext) {
      val event = events.next()
      came += 1
      if (event.time.isEmpty) late(event, None, now, LateReason.NoEventTime, out)
      else if (place(event, event.time.get, now, out)) folded += 1
    }
    panes.counts.add(Counts.Rows, came)
    panes.counts.add(Counts.Folded, folded)
    open.foreach { cell =>
      if (touched(cell)) {
        panes.settle(key, cell, now, out)
        panes.arm(cell, store, now, panes.unvisited(now))
      }
    }
    keep(store)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit = {
    open = codec.read(store.get(0))
    open.filterInPlace { cell =>
      if (cell.wake <= due) cell.wake = Long.MaxValue
      panes.visit(key, cell, now, out)
      val over = panes.expired(cell, now)
      if (over) panes.expire(cell) else panes.arm(cell, store, now, due)
      !over
    }
    keep(store)
  }

  private def keep(store: SlotStore): Unit =
    if (open.isEmpty) store.remove(0) else store.put(0, codec.write(open))

  /** The watermark acts first: it completes sessions, and ends those whose lateness is over. */
  private def overtaken(key: InternalRow, cell: WindowState, now: Now, out: WindowEmitter): Boolean =
    now.watermark >= cell.end && {
      if (!cell.passed) touched += cell
      panes.pass(key, cell, now, out)
      val over = panes.expired(cell, now)
      if (over) panes.expire(cell)
      over
    }

  /** Takes a row into its session; whether it was taken. */
  private def place(event: Event, time: Long, now: Now, out: WindowEmitter): Boolean = {
    // Those that the row's own window overlaps stand side by side: [from, until).
    val ownEnd = Time.plus(time, gap)
    var until = open.size
    while (until > 0 && open(until - 1).start >= ownEnd) until -= 1
    var from = until
    while (from > 0 && open(from - 1).end > time) from -= 1
    val start = if (from < until) math.min(time, open(from).start) else time
    val end = if (from < until) math.max(ownEnd, open(until - 1).end) else ownEnd
    if (time < 0 || now.watermark >= Time.plus(end, spec.lateness)) {
      // A row before 1970 is in no session, whatever is there.
      val bounds = if (time < 0) (time, ownEnd) else (start, end)
      late(event, Some(bounds), now, LateReason.TooLate, out)
      false
    } else {
      val cell = joined(from, until, start, end, now)
      if (cell ne latest) touched += cell
      latest = cell
      if (cell.closed) late(event, Some((start, end)), now, LateReason.Closed, out) else panes.fold(cell, event)
      !cell.closed
    }
  }

  /** The session of these bounds, instead of those it is made of. */
  private def joined(from: Int, until: Int, start: Long, end: Long, now: Now): WindowState =
    if (from == until) {
      val cell = panes.open(start, end, 0, now)
      open.insert(from, cell)
      cell
    } else {
      val first = open(from)
      if (until - from > 1 || first.start != start || first.end != end) {
        merged(open.slice(from, until).toSeq, start, end, now)
        open.remove(from + 1, until - from - 1)
      }
      first
    }

  /** Any change of bounds is a merge: the index starts again and what was shown is to be retracted. */
  private def merged(parts: Seq[WindowState], start: Long, end: Long, now: Now): Unit = {
    val cell = parts.head
    if (cell.last != null || cell.pending.nonEmpty || parts.size > 1) {
      cell.pending = parts.flatMap(part => part.pending ++ Option(part.last)).toList
      cell.last = null
    }
    if (parts.size > 1) combine(cell, parts.tail)
    cell.start = start
    cell.end = end
    cell.index = 0
    cell.passed = now.watermark >= end
    if (!cell.passed && !cell.closed) cell.trigger = spec.trigger.reopen(cell.trigger)
  }

  private def combine(cell: WindowState, others: Seq[WindowState]): Unit = {
    val closed = cell.closed || others.exists(_.closed)
    if (closed) cell.buffer = null
    else {
      others.foreach(other => panes.aggregates.merge(cell.buffer, panes.aggregates.write(other.buffer)))
      cell.trigger = spec.trigger.merge(cell.trigger +: others.map(_.trigger))
    }
    cell.closed = closed
    cell.rows += others.map(_.rows).sum
    cell.fresh += others.map(_.fresh).sum
    cell.added += others.map(_.added).sum
    cell.newest = (cell.newest +: others.map(_.newest)).max
    cell.wake = (cell.wake +: others.map(_.wake)).min
    panes.counts.add(Counts.Windows, -others.size)
  }

  private def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: WindowEmitter): Unit = {
    panes.counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }
}
