package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/**
 * Tumbling, sliding, cumulating and global windows, and those that are attached to rows. A call reads and
 * writes only the windows of its rows.
 *
 * @param shared the windows of all keys; None if the key of the rows determines their window
 */
final class AlignedWindows(panes: Panes, shared: Option[WindowGrid]) extends KeyedLogic {
  private val spec = panes.spec
  private var grid: WindowGrid = shared.orNull

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val touched = mutable.LongMap.empty[WindowState]
    bind(key)
    events.foreach { event =>
      panes.counts.add(Counts.Rows, event.rows)
      if (event.at == Time.None || grid == null) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else assign(key, store, touched, event, now, out)
    }
    val windows = touched.values.toArray
    if (windows.length > 1) java.util.Arrays.sort(windows, AlignedWindows.byBounds)
    windows.foreach { window =>
      panes.afterRows(key, window, now, out)
      save(store, window, now, panes.outsideTimer(now))
    }
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    bind(key)
    dueWindows(store, due).foreach { case (number, bytes) =>
      val window = panes.read(bytes)
      window.onTimer(due)
      panes.onTimer(key, window, now, out)
      if (panes.isExpired(window, now)) {
        panes.expire(window)
        store.remove(number)
      } else save(store, window, now, due)
    }
  }

  private def bind(key: InternalRow): Unit = if (shared.isEmpty) grid = WindowGrid.ofKey(key).orNull

  private def assign(key: InternalRow, store: SlotStore, touched: mutable.LongMap[WindowState], event: Event,
      now: Now, out: TaggedRows): Unit = {
    val time = event.at
    var taken, missed = 0
    var latest: WindowState = null
    var number = grid.last(time)
    while (time >= 0 && grid.contains(number, time)) {
      if (now.watermark >= Time.plus(grid.end(number), lateness(number))) missed += 1
      else {
        val window = touched.getOrElseUpdate(number, load(key, store, number, now, out))
        if (latest == null) latest = window
        if (window.closed) missed += 1
        else {
          panes.fold(window, event)
          taken += 1
        }
      }
      number = grid.previous(number)
    }
    if (taken > 0) {
      panes.counts.add(Counts.Processed, event.rows)
      panes.counts.add(Counts.Missed, missed * event.rows)
    } else {
      val own = grid.last(time)
      panes.emitLate(event, Some((grid.start(own), grid.end(own))), now,
        if (latest == null) LateReason.TooLate else LateReason.Closed, out)
    }
  }

  private def load(key: InternalRow, store: SlotStore, number: Long, now: Now, out: TaggedRows): WindowState =
    lookup(store, number, now) match {
      case null => panes.open(grid.start(number), grid.end(number), 0, now)
      case bytes =>
        val window = panes.read(bytes)
        if (now.watermark >= window.end) panes.onEndPassed(key, window, now, out)
        window
    }

  /** Reads a window, which is stored under its end, or under the end of its lateness once it has fired. */
  private def lookup(store: SlotStore, number: Long, now: Now): Array[Byte] = {
    val end = grid.end(number)
    val visited =
      if (spec.byClock || now.watermark < end) null
      else store.get(number, Time.millis(Time.plus(end, lateness(number))))
    if (visited != null) visited else store.get(number, Time.millis(end))
  }

  private def dueWindows(store: SlotStore, due: Long): Seq[(Long, Array[Byte])] =
    if (store.dueSlot.isDefined) store.dueSlot.toSeq
    else if (spec.byClock) store.all.toVector
    else {
      val numbers = (grid.endingAt(due, 0) ++ grid.endingAt(due, spec.lateness)).toVector.distinct
      numbers.map(number => number -> store.get(number)).filter(_._2 != null)
    }

  private def save(store: SlotStore, window: WindowState, now: Now, visited: Long): Unit = {
    panes.scheduleTimer(window, store, now, visited)
    store.put(grid.numberOf(window.start, window.end), panes.write(window), window.timerAt)
  }

  private def lateness(number: Long): Long = if (grid.end(number) >= Time.End) 0 else spec.lateness
}

object AlignedWindows {
  private val byBounds: java.util.Comparator[WindowState] = (a, b) =>
    if (a.start != b.start) java.lang.Long.compare(a.start, b.start) else java.lang.Long.compare(a.end, b.end)
}
