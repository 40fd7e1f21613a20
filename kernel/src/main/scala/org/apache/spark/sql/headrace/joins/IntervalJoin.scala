package org.apache.spark.sql.headrace.joins

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{RowBlock, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/**
 * Joins rows whose event times are within bounds of each other. A pair is emitted when its second row
 * arrives; a row is kept until the watermark has passed the last time at which a partner could arrive.
 *
 * The rows of a side are stored in buckets as wide as the bounds, so the partners of a row are in at most two
 * buckets. A bucket is removed when all of its rows may be. A row that must be emitted if it stays unmatched
 * has a mark at the time when that is decided.
 */
final class IntervalJoin(interval: Interval, spec: JoinSpec, pairs: Pairs, counts: Counts)
    extends KeyedLogic {
  import IntervalJoin._

  private val kind = spec.kind
  private val width = math.max(1000L, interval.upper - interval.lower + 1)

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val buckets = new Buckets(store)
    val joins = !key.anyNull
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (event.at == Time.None) out.late(event, now, LateReason.NoEventTime)
      else if (event.at < 0 || (!spec.clockTime && event.at < now.watermark)) out
        .late(event, now, LateReason.TooLate)
      else {
        val side = pairs.sideOf(event.row)
        val row = pairs.content(event.row, side)
        val matched = joins && probe(row, event.at, side, buckets, out)
        keepRow(row, event.at, side, matched, joins, buckets, now, out)
      }
    }
    buckets.save()
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit =
    store.dueSlot match {
      case Some((slot, bytes)) if slot >= 0 => expire(RowBlock.read(bytes), sideOf(slot), out)
      case Some((slot, _)) => visit(store, slotOfMark(slot), now, out)
      case None => slotsDueAt(due).foreach { slot =>
          if (dueOf(slot) > Time.floor(now.watermark)) visit(store, slot, now, out)
          else {
            expire(RowBlock.read(store.get(slot)), sideOf(slot), out)
            store.remove(slot)
          }
        }
    }

  /** Finds the partners of an arriving row and emits what follows. Returns true if there are any. */
  private def probe(row: UnsafeRow, time: Long, side: Int, buckets: Buckets, out: TaggedRows): Boolean = {
    val (first, last) = (interval.first(side, time), interval.last(side, time))
    val other = 1 - side
    var matched = false
    var number = math.max(0L, Math.floorDiv(first, width))
    while (number <= Math.floorDiv(last, width)) {
      val bucket = buckets(slotOf(number, other))
      bucket.foreachPlace { place =>
        val at = bucket.time(place)
        if (at >= first && at <= last) {
          val partner = bucket.row(place, pairs.width(other))
          val (left, right) = if (side == Side.Left) (row, partner) else (partner, row)
          if (pairs.accepts(left, right)) {
            if (kind.pairs) pairs.emit(left, right, math.max(time, at), out)
            else if (kind.onceLeft && side == Side.Left && !matched) pairs.emit(row, null, time, out)
            else if (kind.onceLeft && side == Side.Right && bucket.tag(place) == Waiting) pairs
              .emit(partner, null, at, out)
            if (bucket.tag(place) == Waiting) bucket.setTag(place, Matched)
            matched = true
          }
        }
      }
      number += 1
    }
    matched
  }

  /** Stores a row that may still find a partner, or accounts for it. */
  private def keepRow(row: UnsafeRow, time: Long, side: Int, matched: Boolean, joins: Boolean,
      buckets: Buckets, now: Now, out: TaggedRows): Unit = {
    val decided = matched && side == Side.Left && kind.leftIsDecidedByMatch
    val mayJoin = joins && !decided && Time.plus(time, interval.keep(side)) >= now.watermark
    val mayBeEmitted = !matched && kind.emitsUnmatched(side)
    if (mayJoin || (mayBeEmitted && Time.plus(time, interval.keep(side)) >= now.watermark)) {
      val slot = slotOf(Math.floorDiv(time, width), side)
      buckets(slot).add(time, if (matched) Matched else Waiting, row)
      counts.add(Counts.Buffered, 1)
      if (mayBeEmitted) buckets.mark(slot, dueAt(time, side))
    } else {
      if (mayBeEmitted) emitUnmatched(row, side, time, out)
      count(side, matched)
    }
  }

  /** Emits the unmatched rows of a bucket whose time has come, and keeps the bucket. */
  private def visit(store: SlotStore, slot: Long, now: Now, out: TaggedRows): Unit =
    if (dueOf(slot) > Time.floor(now.watermark)) { // else the bucket is due in this batch, too
      val (bucket, side) = (RowBlock.read(store.get(slot, dueOf(slot))), sideOf(slot))
      bucket.foreachPlace { place =>
        if (bucket.tag(place) == Waiting && kind.emitsUnmatched(side) &&
          Time.plus(bucket.time(place), interval.keep(side)) < now.watermark) {
          emitUnmatched(bucket.row(place, pairs.width(side)), side, bucket.time(place), out)
          bucket.setTag(place, Emitted)
        }
      }
      if (bucket.isModified) store.put(slot, bucket.toBytes, dueOf(slot))
    }

  private def expire(bucket: RowBlock, side: Int, out: TaggedRows): Unit = bucket.foreachPlace { place =>
    val tag = bucket.tag(place)
    if (tag == Waiting && kind.emitsUnmatched(side))
      emitUnmatched(bucket.row(place, pairs.width(side)), side, bucket.time(place), out)
    counts.add(Counts.Buffered, -1)
    if (tag == Emitted) counts.add(Counts.Processed, 1) else count(side, tag == Matched)
  }

  private def emitUnmatched(row: UnsafeRow, side: Int, time: Long, out: TaggedRows): Unit =
    if (side == Side.Left) pairs.emit(row, null, time, out) else pairs.emit(null, row, time, out)

  /** Counts a row that leaves the step. */
  private def count(side: Int, matched: Boolean): Unit = counts
    .add(if (kind.hasResult(side, matched)) Counts.Processed else Counts.Unmatched, 1)

  private def slotOf(number: Long, side: Int): Long = 2 * number + side
  private def sideOf(slot: Long): Int = (slot & 1).toInt

  /** First watermark, in milliseconds, at which no partner of a row can arrive. */
  private def dueAt(time: Long, side: Int): Long = Math
    .floorDiv(Time.plus(time, interval.keep(side)), 1000L) + 1

  /** First watermark at which that holds for all rows of a bucket. */
  private def dueOf(slot: Long): Long = dueAt(((slot >> 1) + 1) * width - 1, sideOf(slot))

  /** Buckets with times for which `dueAt` is `due`; for stores that do not return the slot. */
  private def slotsDueAt(due: Long): Seq[Long] = for {
    side <- Seq(Side.Left, Side.Right)
    first = (due - 1) * 1000 - interval.keep(side)
    number <- math.max(0L, Math.floorDiv(first, width)) to Math.floorDiv(first + 999, width)
  } yield slotOf(number, side)

  /** The buckets that a call uses. */
  private final class Buckets(store: SlotStore) {
    private val read = mutable.LongMap.empty[RowBlock]

    def apply(slot: Long): RowBlock = read.getOrElseUpdate(slot, RowBlock.read(store.get(slot, dueOf(slot))))

    /** Requests a call for a bucket at a time. */
    def mark(slot: Long, due: Long): Unit = store.mark(markOf(slot), due)

    def save(): Unit = read.foreach { case (slot, bucket) =>
      if (bucket.isModified) {
        store.put(slot, bucket.toBytes, dueOf(slot))
        store.setTimer(dueOf(slot))
      }
    }
  }
}

object IntervalJoin {
  // Tags of stored rows.
  private val Waiting = 0
  private val Matched = 1
  private val Emitted = 2

  /** Slots of marks are negative. */
  private def markOf(slot: Long): Long = -slot - 1
  private def slotOfMark(mark: Long): Long = -mark - 1
}
