package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Aggregates

/**
 * Aggregates over ranges of rows that are sorted by time and overlap.
 *
 * A long range is put together of stretches of a sixteenth of `size`, each folded once, and the rows at its ends. Where
 * stretches begin depends on the time alone, so that the same rows give the same result to the last bit, in whatever
 * batches they came. Where the order of rows matters to an aggregate, rows are folded one by one.
 */
final class TrailingAggregates(rows: Array[TrailingRow], size: Long, aggregates: Aggregates) {
  private val width = math.max(1L, size / TrailingAggregates.Stretches)
  private lazy val shares = aggregates.commutative
  private val folded = mutable.LongMap.empty[Array[Byte]]

  /** The aggregates of the rows `[from, until)`. */
  def over(from: Int, until: Int): InternalRow = {
    val buffer = aggregates.create()
    if (until - from < TrailingAggregates.Few || !shares) fold(buffer, from, until)
    else {
      var at = from
      while (at < until) {
        val end = stretchEnd(at, until)
        // What is at the ends may be part of a stretch only.
        if (at > from && end < until) aggregates.merge(buffer, stretch(at, end)) else fold(buffer, at, end)
        at = end
      }
    }
    buffer
  }

  /** The rows of a whole stretch, as a buffer's bytes. */
  private def stretch(from: Int, until: Int): Array[Byte] = folded.getOrElseUpdate(number(from), {
    val buffer = aggregates.create()
    fold(buffer, from, until)
    aggregates.write(buffer).clone() // they may be those that the next write fills
  })

  private def fold(buffer: InternalRow, from: Int, until: Int): Unit = {
    var i = from
    while (i < until) {
      aggregates.update(buffer, rows(i).row)
      i += 1
    }
  }

  private def number(i: Int): Long = Math.floorDiv(rows(i).time, width)

  /** Where the stretch of a row ends, or the range does. */
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

object TrailingAggregates {
  private val Stretches = 16
  private val Few = 48
}
