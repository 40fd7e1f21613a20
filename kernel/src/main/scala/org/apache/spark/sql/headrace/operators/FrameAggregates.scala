package org.apache.spark.sql.headrace.operators

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow

/** Rows that are sorted by a position, such as their time. */
trait FrameRows {
  def row(i: Int): InternalRow
  def position(i: Int): Long
}

/**
 * Aggregates over overlapping ranges of rows.
 *
 * A long range is merged from stretches of a sixteenth of `size`, each aggregated once, and the rows at both
 * ends. Stretch bounds depend on the position alone, so results are bit-identical in any batching.
 * Order-dependent aggregates process rows one by one.
 *
 * @param size the length of a range
 */
final class FrameAggregates(rows: FrameRows, size: Long, aggregates: Aggregates) {
  private val width = math.max(1L, size / FrameAggregates.Stretches)
  private lazy val shares = aggregates.commutative
  private val stretches = mutable.LongMap.empty[Array[Byte]]

  def over(from: Int, until: Int): InternalRow = {
    val buffer = aggregates.create()
    if (until - from < FrameAggregates.Few || !shares) fold(buffer, from, until)
    else {
      var at = from
      while (at < until) {
        val end = stretchEnd(at, until)
        // The ends may cover only part of a stretch.
        if (at > from && end < until) aggregates.merge(buffer, stretch(at, end)) else fold(buffer, at, end)
        at = end
      }
    }
    buffer
  }

  /** Serialised aggregate of a whole stretch. */
  private def stretch(from: Int, until: Int): Array[Byte] = stretches.getOrElseUpdate(number(from), {
      val buffer = aggregates.create()
      fold(buffer, from, until)
      aggregates.write(buffer).clone() // the next write may reuse them
    })

  private def fold(buffer: InternalRow, from: Int, until: Int): Unit = {
    var i = from
    while (i < until) {
      aggregates.update(buffer, rows.row(i))
      i += 1
    }
  }

  private def number(i: Int): Long = Math.floorDiv(rows.position(i), width)

  /** End of the stretch, or of the range. */
  private def stretchEnd(from: Int, until: Int): Int = {
    val own = number(from)
    var (low, high) = (from + 1, until)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (number(middle) == own) low = middle + 1 else high = middle
    }
    low
  }
}

object FrameAggregates {
  private val Stretches = 16
  private val Few = 48
}
