package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/** Bounds of windows that depend on time alone. */
final class WindowGrid(val size: Long, val every: Long, offset: Long) {
  /** Length of the slices that every window consists of. */
  val slice: Long = if (size == Long.MaxValue) size else WindowGrid.gcd(size, every)

  def sliceOf(time: Long): Long =
    if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, slice)

  /** End of the first window that ends after a time. */
  def firstEndAfter(time: Long): Long = lastStart(time - size) + every + size
  def end(start: Long): Long = if (size == Long.MaxValue) Time.End else Time.plus(start, size)

  /** Start of the last window that contains a time. */
  def lastStart(time: Long): Long =
    if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, every)
  def previousStart(start: Long): Long = start - every
  def contains(start: Long, time: Long): Boolean =
    if (size == Long.MaxValue) start == 0L else start > time - size

  /** Starts of the windows whose end, plus `ago`, falls in the millisecond up to `millis`. */
  def startsEndingAt(millis: Long, ago: Long): Iterator[Long] =
    if (size == Long.MaxValue) Iterator.single(0L)
    else {
      val until = Time.micros(millis) - ago - size
      Iterator.iterate(lastStart(until))(_ - every).takeWhile(_ > until - 1000)
    }
}

object WindowGrid {
  def sliding(s: Sliding): WindowGrid = new WindowGrid(s.size, s.every, s.offset)
  val Whole: WindowGrid = new WindowGrid(Long.MaxValue, Long.MaxValue, 0)

  def of(kind: WindowKind): Option[WindowGrid] = kind match {
    case s: Sliding => Some(sliding(s))
    case GlobalWindow => Some(Whole)
    case _ => None
  }

  @scala.annotation.tailrec
  private def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}

/** Tumbling, sliding and global windows. A call reads and writes only the windows of its rows. */
final class AlignedWindows(panes: Panes, grid: WindowGrid) extends KeyedLogic {
  private val spec = panes.spec

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val touched = mutable.LongMap.empty[WindowState]
    events.foreach { event =>
      panes.counts.add(Counts.Rows, event.rows)
      if (event.at == Time.None) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else assign(key, store, touched, event, now, out)
    }
    val windows = touched.values.toArray
    if (windows.length > 1) java.util.Arrays.sort(windows, AlignedWindows.byStart)
    windows.foreach { window =>
      panes.afterRows(key, window, now, out)
      save(store, window, now, panes.outsideTimer(now))
    }
  }

  override def onTimer(
      key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = dueWindows(store, due)
    .foreach { case (start, bytes) =>
      val window = panes.read(bytes)
      window.onTimer(due)
      panes.onTimer(key, window, now, out)
      if (panes.isExpired(window, now)) {
        panes.expire(window)
        store.remove(start)
      } else save(store, window, now, due)
    }

  private def assign(key: InternalRow, store: SlotStore, touched: mutable.LongMap[WindowState], event: Event,
      now: Now, out: TaggedRows): Unit = {
    val time = event.at
    var taken, missed = 0
    var latest: WindowState = null
    var start = grid.lastStart(time)
    while (time >= 0 && grid.contains(start, time)) {
      if (now.watermark >= Time.plus(grid.end(start), lateness(start))) missed += 1
      else {
        val window = touched.getOrElseUpdate(start, load(key, store, start, now, out))
        if (latest == null) latest = window
        if (window.closed) missed += 1
        else {
          panes.fold(window, event)
          taken += 1
        }
      }
      start = grid.previousStart(start)
    }
    if (taken > 0) {
      panes.counts.add(Counts.Processed, event.rows)
      panes.counts.add(Counts.Missed, missed * event.rows)
    } else {
      val own = grid.lastStart(time)
      panes.emitLate(event, Some((own, grid.end(own))), now,
        if (latest == null) LateReason.TooLate else LateReason.Closed, out)
    }
  }

  private def load(key: InternalRow, store: SlotStore, start: Long, now: Now, out: TaggedRows): WindowState =
    lookup(store, start, now) match {
      case null => panes.open(start, grid.end(start), 0, now)
      case bytes =>
        val window = panes.read(bytes)
        if (now.watermark >= window.end) panes.onEndPassed(key, window, now, out)
        window
    }

  /** Reads a window, which is stored under its end, or under the end of its lateness once it has fired. */
  private def lookup(store: SlotStore, start: Long, now: Now): Array[Byte] = {
    val end = grid.end(start)
    val visited =
      if (spec.byClock || now.watermark < end) null
      else store.get(start, Time.millis(Time.plus(end, lateness(start))))
    if (visited != null) visited else store.get(start, Time.millis(end))
  }

  private def dueWindows(store: SlotStore, due: Long): Seq[(Long, Array[Byte])] =
    if (store.dueSlot.isDefined) store.dueSlot.toSeq
    else if (spec.byClock) store.all.toVector
    else {
      val starts = (grid.startsEndingAt(due, 0) ++ grid.startsEndingAt(due, spec.lateness)).toVector.distinct
      starts.map(start => start -> store.get(start)).filter(_._2 != null)
    }

  private def save(store: SlotStore, window: WindowState, now: Now, visited: Long): Unit = {
    panes.scheduleTimer(window, store, now, visited)
    store.put(window.start, panes.write(window), window.timerAt)
  }

  private def lateness(start: Long): Long = if (grid.end(start) >= Time.End) 0 else spec.lateness
}

object AlignedWindows {
  private val byStart: java.util.Comparator[WindowState] = (a, b) => java.lang.Long.compare(a.start, b.start)
}
