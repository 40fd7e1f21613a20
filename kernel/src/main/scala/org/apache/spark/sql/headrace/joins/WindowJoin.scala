package org.apache.spark.sql.headrace.joins

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{RowBlock, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/**
 * Joins rows that share a window, when the watermark passes its end. A window is one bucket, whose rows are
 * tagged with their side.
 */
final class WindowJoin(scope: SameWindow, spec: JoinSpec, pairs: Pairs, counts: Counts) extends KeyedLogic {
  private val kind = spec.kind
  private val grid = scope.grid

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val windows = mutable.LongMap.empty[RowBlock]
    val joins = !key.anyNull
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      val side = pairs.sideOf(event.row)
      if (event.at == Time.None) out.late(event, now, LateReason.NoEventTime)
      else if (event.at < 0 || (!spec.clockTime && event.at < now.watermark)) out
        .late(event, now, LateReason.TooLate, bounds(grid.lastStart(event.at)))
      else if (joins || kind.emitsUnmatched(side)) assign(store, windows, event, side)
      else counts.add(Counts.Unmatched, 1)
    }
    windows.foreach { case (start, bucket) =>
      store.put(start, bucket.toBytes, dueOf(start))
      store.setTimer(dueOf(start))
    }
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit =
    store.dueSlot match {
      case Some((start, bytes)) => close(start, RowBlock.read(bytes), !key.anyNull, out)
      case None => grid.startsEndingAt(due, 0).foreach { start =>
          close(start, RowBlock.read(store.get(start)), !key.anyNull, out)
          store.remove(start)
        }
    }

  private def assign(store: SlotStore, windows: mutable.LongMap[RowBlock], event: Event, side: Int): Unit = {
    counts.add(Counts.Buffered, 1)
    var start = grid.lastStart(event.at)
    while (grid.contains(start, event.at)) {
      windows.getOrElseUpdate(start, RowBlock.read(store.get(start, dueOf(start))))
        .add(event.at, side, pairs.content(event.row, side))
      start = grid.previousStart(start)
    }
  }

  /** Emits the results of a window. A row is accounted for when its last window closes. */
  private def close(start: Long, bucket: RowBlock, joins: Boolean, out: TaggedRows): Unit = {
    val window = bounds(start)
    val time = grid.end(start) - 1
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
      account(start, at, Side.Left, matched)
    }
    right.indices.foreach { i =>
      val (at, row) = right(i)
      if (!matchedRight(i) && kind.unmatchedRight) pairs.emit(null, row, window, time, out)
      account(start, at, Side.Right, matchedRight(i))
    }
  }

  private def account(
      start: Long, at: Long, side: Int, matched: Boolean): Unit = if (start == grid.lastStart(at)) {
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

  private def bounds(start: Long): InternalRow = new GenericInternalRow(Array[Any](start, grid.end(start)))

  private def dueOf(start: Long): Long = Time.millis(grid.end(start))
}
