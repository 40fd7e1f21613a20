/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow

import scala.collection.mutable

/** Sessions: a row's own window is `[t, t + gap)`, and windows that overlap are one. */
final class Sessions(panes: Panes, gap: Long) extends Logic {
  private val spec = panes.spec

  override def rows(key: InternalRow, store: Store, events: Iterator[Event], now: Now, out: Emitter): Unit = {
    val open = load(store)
    val before = open.keys.toVector
    val touched = mutable.LongMap.empty[Unit]
    open.values.toVector.foreach(overtake(key, open, touched, _, now, out))
    events.foreach { event =>
      panes.counts.add(Counts.Rows, 1)
      event.time match {
        case None => late(event, None, now, Reason.NoEventTime, out)
        case Some(time) => place(open, touched, event, time, now, out)
      }
    }
    touched.keys.toArray.sorted.flatMap(open.get).foreach { cell =>
      panes.settle(key, cell, now, out)
      panes.arm(cell, store, now, panes.unvisited(now))
      store.put(cell.start, panes.write(cell))
    }
    before.filterNot(open.contains).foreach(store.remove)
  }

  override def visit(key: InternalRow, store: Store, due: Long, now: Now, out: Emitter): Unit = {
    val open = load(store)
    open.values.toVector.foreach { cell =>
      if (cell.wake <= due) cell.wake = Long.MaxValue
      panes.visit(key, cell, now, out)
      if (panes.expired(cell, now)) {
        panes.expire(cell)
        store.remove(cell.start)
      } else {
        panes.arm(cell, store, now, due)
        store.put(cell.start, panes.write(cell))
      }
    }
  }

  private def load(store: Store): mutable.TreeMap[Long, Cell] =
    mutable.TreeMap.from(store.all.map { case (start, bytes) => start -> panes.read(bytes) })

  /** The watermark acts first: it completes sessions, and ends those whose lateness is over. */
  private def overtake(
      key: InternalRow, open: mutable.TreeMap[Long, Cell], touched: mutable.LongMap[Unit], cell: Cell, now: Now,
      out: Emitter): Unit = if (now.watermark >= cell.end) {
    if (!cell.passed) touched.put(cell.start, ())
    panes.pass(key, cell, now, out)
    if (panes.expired(cell, now)) {
      panes.expire(cell)
      open.remove(cell.start)
    }
  }

  private def place(
      open: mutable.TreeMap[Long, Cell], touched: mutable.LongMap[Unit], event: Event, time: Long, now: Now,
      out: Emitter): Unit = {
    val hit = if (time < 0) Seq.empty else overlapping(open, time, Time.plus(time, gap))
    val start = (time +: hit.map(_.start)).min
    val end = (Time.plus(time, gap) +: hit.map(_.end)).max
    if (time < 0 || now.watermark >= Time.plus(end, spec.lateness)) {
      late(event, Some((start, end)), now, Reason.TooLate, out)
    } else {
      hit.foreach(old => open.remove(old.start))
      val cell = hit match {
        case Seq() => panes.open(start, end, 0, now)
        case Seq(one) if one.start == start && one.end == end => one
        case several => merged(several, start, end, now)
      }
      open.put(start, cell)
      touched.put(start, ())
      if (cell.closed) late(event, Some((start, end)), now, Reason.Closed, out)
      else {
        panes.fold(cell, event)
        panes.counts.add(Counts.Folded, 1)
      }
    }
  }

  private def overlapping(open: mutable.TreeMap[Long, Cell], start: Long, end: Long): Seq[Cell] =
    open.rangeUntil(end).valuesIterator.filter(_.end > start).toVector

  /** Any change of bounds is a merge: the index starts again and what was shown is to be retracted. */
  private def merged(parts: Seq[Cell], start: Long, end: Long, now: Now): Cell = {
    val cell = parts.head
    cell.pending = parts.flatMap(part => part.pending ++ Option(part.last)).toList
    cell.last = null
    if (parts.size > 1) combine(cell, parts.tail)
    cell.start = start
    cell.end = end
    cell.index = 0
    cell.passed = now.watermark >= end
    if (!cell.passed && !cell.closed) cell.trigger = spec.trigger.reopen(cell.trigger)
    cell
  }

  private def combine(cell: Cell, others: Seq[Cell]): Unit = {
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

  private def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: Emitter): Unit = {
    panes.counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }
}
