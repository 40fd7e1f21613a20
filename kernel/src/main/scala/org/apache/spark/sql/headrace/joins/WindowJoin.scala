package org.apache.spark.sql.headrace.joins

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{RowBlock, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}
import org.apache.spark.sql.headrace.windows.WindowGrid

/**
 * Joins rows that share a window, when the watermark passes its end. A window is one bucket, whose rows are
 * tagged with their side.
 */
final class WindowJoin(scope: SameWindow, spec: JoinSpec, pairs: Pairs, counts: Counts) extends KeyedLogic {
  private val kind = spec.kind
  private val shared = scope.grid
  private var grid: WindowGrid = shared.orNull

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val windows = mutable.LongMap.empty[RowBlock]
    val joins = !key.anyNull
    bind(key)
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      val side = pairs.sideOf(event.row)
      if (event.at == Time.None || grid == null) out.late(event, now, LateReason.NoEventTime)
      else if (isLate(event, now)) out.late(event, now, LateReason.TooLate, bounds(grid.last(event.at)))
      else if (joins || kind.emitsUnmatched(side)) assign(store, windows, event, side)
      else counts.add(Counts.Unmatched, 1)
    }
    windows.foreach { case (window, bucket) =>
      store.put(window, bucket.toBytes, dueOf(window))
      store.setTimer(dueOf(window))
    }
  }

  private def bind(key: InternalRow): Unit = if (shared.isEmpty) grid = WindowGrid.ofKey(key).orNull

  /** Rows with attached windows are late when their window has closed, others behind the watermark. */
  private def isLate(event: Event, now: Now): Boolean =
    if (shared.isEmpty) event.at < 0 || now.watermark >= grid.end(grid.last(event.at))
    else event.at < 0 || (!spec.clockTime && event.at < now.watermark)

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    bind(key)
    store.dueSlot match {
      case Some((window, bytes)) => close(window, RowBlock.read(bytes), !key.anyNull, out)
      case None => grid.endingAt(due, 0).foreach { window =>
          close(window, RowBlock.read(store.get(window)), !key.anyNull, out)
          store.remove(window)
        }
    }
  }

  private def assign(store: SlotStore, windows: mutable.LongMap[RowBlock], event: Event, side: Int): Unit = {
    counts.add(Counts.Buffered, 1)
    var window = grid.last(event.at)
    while (grid.contains(window, event.at)) {
      windows.getOrElseUpdate(window, RowBlock.read(store.get(window, dueOf(window))))
        .add(event.at, side, pairs.content(event.row, side))
      window = grid.previous(window)
    }
  }

  /** Emits the results of a window. A row is accounted for when its last window closes. */
  private def close(number: Long, bucket: RowBlock, joins: Boolean, out: TaggedRows): Unit = {
    val window = bounds(number)
    val time = grid.end(number) - 1
    val Seq(left, right) = Seq(Side.Left, Side.Right).map(rows(bucket, _))
    val matchedRight = new Array[Boolean](right.length)
    left.foreach { case (at, row) =>
      var matched = false
      if (joins) right.indices.foreach { i =>
        if (pairs.accepts(row, right(i)._2)) {
          if (kind.pairs) pairs.emit(row, right(i)._2, window, time, out)
          matched = true
          matchedRight(i) = true
        }
      }
      if (matched && kind.onceLeft || !matched && kind.unmatchedLeft) pairs.emit(row, null, window, time, out)
      account(number, at, Side.Left, matched)
    }
    right.indices.foreach { i =>
      val (at, row) = right(i)
      if (!matchedRight(i) && kind.unmatchedRight) pairs.emit(null, row, window, time, out)
      account(number, at, Side.Right, matchedRight(i))
    }
  }

  private def account(
      number: Long, at: Long, side: Int, matched: Boolean): Unit = if (number == grid.last(at)) {
    counts.add(Counts.Buffered, -1)
    counts.add(if (kind.hasResult(side, matched)) Counts.Processed else Counts.Unmatched, 1)
  }

  private def rows(bucket: RowBlock, side: Int): Array[(Long, UnsafeRow)] = {
    val rows = mutable.ArrayBuffer.empty[(Long, UnsafeRow)]
    bucket.foreachPlace { place =>
      if (bucket.tag(place) == side) rows += bucket.time(place) -> bucket.row(place, pairs.width(side))
    }
    rows.toArray
  }

  private def bounds(window: Long): InternalRow =
    new GenericInternalRow(Array[Any](grid.start(window), grid.end(window)))

  private def dueOf(window: Long): Long = Time.millis(grid.end(window))
}
