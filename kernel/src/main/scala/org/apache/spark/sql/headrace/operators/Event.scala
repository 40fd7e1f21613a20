package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow

/** Watermark and clock of one call, in microseconds. */
final case class Now(watermark: Long, clock: Long) {
  /** True if the input has ended. */
  def ended: Boolean = watermark >= Time.End
}

object Time {
  /** No watermark yet. */
  val None: Long = Long.MinValue

  /** A watermark at or after this time (9999-01-01) ends the input. The global window ends here. */
  val End: Long = 253370764800000000L

  /** Converts Spark's watermark; 0 means none yet. */
  def watermark(millis: Long): Long = if (millis <= 0) None else micros(millis)
  def micros(millis: Long): Long = if (millis >= Long.MaxValue / 1000) Long.MaxValue else millis * 1000

  /** Rounds up to milliseconds, the resolution of timers. */
  def millis(micros: Long): Long =
    if (micros == Long.MaxValue) Long.MaxValue else -Math.floorDiv(-micros, 1000L)

  /** The first millisecond after a time; Long.MaxValue for none. */
  def after(micros: Long): Long =
    if (micros == Long.MaxValue) Long.MaxValue else Math.floorDiv(micros, 1000L) + 1

  /** Rounds down to milliseconds. */
  def floor(micros: Long): Long = if (micros == None) None else Math.floorDiv(micros, 1000L)

  /** Adds two times; saturates instead of overflowing. */
  def plus(a: Long, b: Long): Long = {
    val sum = a + b
    if (b > 0 && sum < a) Long.MaxValue else sum
  }
}

/**
 * A row with its event time in microseconds (`Time.None`: no event time), or several pre-aggregated rows of
 * one time slice: then `buffer` holds their aggregates and `at` is the newest row's time.
 */
final case class Event(row: InternalRow, at: Long, rows: Long, buffer: Array[Byte]) {
  def time: Option[Long] = if (at == Time.None) None else Some(at)
}

object Event {
  def apply(row: InternalRow, time: Option[Long]): Event = new Event(row, time.getOrElse(Time.None), 1, null)
}

object LateReason {
  val TooLate = "too_late"
  val NoEventTime = "no_event_time"
  val AheadOfClock = "ahead_of_clock"
  val Closed = "closed"
}
