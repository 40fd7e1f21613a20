package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** Windows whose bounds follow from the time alone. */
final class WindowGrid(val size: Long, val every: Long, offset: Long) {
  /** The length of slices that are each in or out of a window as a whole. */
  val slice: Long = if (size == Long.MaxValue) size else WindowGrid.gcd(size, every)

  /** The start of the slice that a time is in. */
  def sliceOf(time: Long): Long = if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, slice)

  /** The end of the first window that ends after a time. */
  def endAfter(time: Long): Long = last(time - size) + every + size

  def end(start: Long): Long = if (size == Long.MaxValue) Time.End else Time.plus(start, size)

  /** The start of the last window that a time is in; those before it are a step apart, as long as they hold it. */
  def last(time: Long): Long = if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, every)
  def before(start: Long): Long = start - every
  def holds(start: Long, time: Long): Boolean = if (size == Long.MaxValue) start == 0L else start > time - size

  /** The starts of the windows that end in the millisecond up to `millis`, less `ago`. */
  def ending(millis: Long, ago: Long): Iterator[Long] =
    if (size == Long.MaxValue) Iterator.single(0L)
    else {
      val until = Time.micros(millis) - ago - size
      Iterator.iterate(last(until))(_ - every).takeWhile(_ > until - 1000)
    }
}

object WindowGrid {
  def sliding(s: Sliding): WindowGrid = new WindowGrid(s.size, s.every, s.offset)
  val Whole: WindowGrid = new WindowGrid(Long.MaxValue, Long.MaxValue, 0)

  /** The grid of a kind of window that has one. */
  def of(kind: WindowKind): Option[WindowGrid] = kind match {
    case s: Sliding => Some(sliding(s))
    case GlobalWindow => Some(Whole)
    case _ => None
  }

  @scala.annotation.tailrec
  private def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}

/** Tumbling, sliding and global windows: a call reads and writes only the windows its rows are in. */
final class AlignedWindows(panes: Panes, grid: WindowGrid) extends WindowLogic {
  private val spec = panes.spec

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit = {
    val touched = mutable.LongMap.empty[WindowState]
    events.foreach { event =>
      panes.counts.add(Counts.Rows, event.rows)
      if (event.at == Time.None) late(event, None, now, LateReason.NoEventTime, out)
      else place(key, store, touched, event, now, out)
    }
    val cells = touched.values.toArray
    if (cells.length > 1) java.util.Arrays.sort(cells, AlignedWindows.byStart)
    cells.foreach { cell =>
      panes.settle(key, cell, now, out)
      keep(store, cell, now, panes.unvisited(now))
    }
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit =
    candidates(store, due).foreach { case (start, bytes) =>
      val cell = panes.read(bytes)
      if (cell.wake <= due) cell.wake = Long.MaxValue
      panes.visit(key, cell, now, out)
      if (panes.expired(cell, now)) {
        panes.expire(cell)
        store.remove(start)
      } else keep(store, cell, now, due)
    }

  private def place(
      key: InternalRow, store: SlotStore, touched: mutable.LongMap[WindowState], event: Event, now: Now, out: WindowEmitter): Unit = {
    val time = event.at
    var taken, missed = 0
    var latest: WindowState = null
    var start = grid.last(time)
    while (time >= 0 && grid.holds(start, time)) {
      if (now.watermark >= Time.plus(grid.end(start), lateness(start))) missed += 1
      else {
        val cell = touched.getOrElseUpdate(start, load(key, store, start, now, out))
        if (latest == null) latest = cell
        if (cell.closed) missed += 1
        else {
          panes.fold(cell, event)
          taken += 1
        }
      }
      start = grid.before(start)
    }
    if (taken > 0) {
      panes.counts.add(Counts.Folded, event.rows)
      panes.counts.add(Counts.Missed, missed * event.rows)
    } else {
      val own = grid.last(time)
      late(event, Some((own, grid.end(own))), now, if (latest == null) LateReason.TooLate else LateReason.Closed, out)
    }
  }

  private def load(key: InternalRow, store: SlotStore, start: Long, now: Now, out: WindowEmitter): WindowState =
    find(store, start, now) match {
      case null => panes.open(start, grid.end(start), 0, now)
      case bytes =>
        val cell = panes.read(bytes)
        if (now.watermark >= cell.end) panes.pass(key, cell, now, out)
        cell
    }

  /** A window is due at its end; one that has been visited there, when its lateness is over. */
  private def find(store: SlotStore, start: Long, now: Now): Array[Byte] = {
    val end = grid.end(start)
    val visited =
      if (spec.byClock || now.watermark < end) null
      else store.get(start, Time.millis(Time.plus(end, lateness(start))))
    if (visited != null) visited else store.get(start, Time.millis(end))
  }

  private def candidates(store: SlotStore, due: Long): Seq[(Long, Array[Byte])] =
    if (store.dueSlot.isDefined) store.dueSlot.toSeq
    else if (spec.byClock) store.all.toVector
    else {
      val starts = (grid.ending(due, 0) ++ grid.ending(due, spec.lateness)).toVector.distinct
      starts.map(start => start -> store.get(start)).filter(_._2 != null)
    }

  private def keep(store: SlotStore, cell: WindowState, now: Now, visited: Long): Unit = {
    panes.arm(cell, store, now, visited)
    store.put(cell.start, panes.write(cell), cell.wake)
  }

  private def lateness(start: Long): Long = if (grid.end(start) >= Time.End) 0 else spec.lateness

  private def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: WindowEmitter): Unit = {
    panes.counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }
}

object AlignedWindows {
  private val byStart: java.util.Comparator[WindowState] = (a, b) => java.lang.Long.compare(a.start, b.start)
}
