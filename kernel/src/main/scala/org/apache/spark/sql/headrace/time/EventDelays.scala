package org.apache.spark.sql.headrace.time

/** Delays of rows: behind the clock, and behind the highest event time that their partition had reached. */
final class EventDelays extends Serializable {
  private val behindClock = new DelayHistogram
  private val outOfOrder = new DelayHistogram

  def add(clockMillis: Long, orderMillis: Long): Unit = {
    behindClock.add(clockMillis)
    outOfOrder.add(orderMillis)
  }

  def merge(other: EventDelays): Unit = {
    behindClock.merge(other.behindClock)
    outOfOrder.merge(other.outOfOrder)
  }

  def reset(): Unit = {
    behindClock.reset()
    outOfOrder.reset()
  }

  /** `{"behind_clock": [[upper bound in ms, rows], ...], "out_of_order": [...]}`. */
  def json: String = s"""{"behind_clock":${behindClock.json},"out_of_order":${outOfOrder.json}}"""
}

/**
 * A histogram of durations in milliseconds with four buckets per power of two, so that a percentile is at
 * most a quarter too high.
 */
final class DelayHistogram extends Serializable {
  private val counts = new Array[Long](DelayHistogram.Buckets)

  def add(millis: Long): Unit = counts(DelayHistogram.bucket(millis)) += 1

  def merge(other: DelayHistogram): Unit = counts.indices.foreach(i => counts(i) += other.counts(i))

  def reset(): Unit = java.util.Arrays.fill(counts, 0L)

  /** JSON with the upper bound of each bucket that has counts. */
  def json: String = counts.indices.filter(counts(_) > 0)
    .map(i => s"""[${DelayHistogram.upperBound(i)},${counts(i)}]""").mkString("[", ",", "]")
}

object DelayHistogram {
  private val Buckets = 164

  /** Exact below 8 milliseconds; negative durations count as 0, durations above 69 years as that. */
  private[time] def bucket(millis: Long): Int =
    if (millis < 8) math.max(millis, 0L).toInt
    else {
      val power = 63 - java.lang.Long.numberOfLeadingZeros(millis)
      math.min(4 * (power - 1) + ((millis >>> (power - 2)) & 3).toInt, Buckets - 1)
    }

  private[time] def upperBound(bucket: Int): Long =
    if (bucket < 8) bucket else ((bucket & 3) + 5L << (bucket / 4 + 1 - 2)) - 1
}
