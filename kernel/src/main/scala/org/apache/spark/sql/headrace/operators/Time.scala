package org.apache.spark.sql.headrace.operators

/** What time it is in one call: the watermark and the clock, in microseconds. */
final case class Now(watermark: Long, clock: Long) {
  /** Whether the input has ended: nothing more will come. */
  def ended: Boolean = watermark >= Time.End
}

object Time {
  /** No watermark yet. */
  val None: Long = Long.MinValue

  /** A watermark from here on (9999-01-01) ends the input; `everything()` ends here too. */
  val End: Long = 253370764800000000L

  /** The watermark as Spark gives it: 0 means none yet. */
  def watermark(millis: Long): Long = if (millis <= 0) None else micros(millis)

  def micros(millis: Long): Long =
    if (millis >= Long.MaxValue / 1000) Long.MaxValue else millis * 1000

  /** The first whole millisecond at or after a time: where a timer for it stands. */
  def millis(micros: Long): Long = if (micros == Long.MaxValue) Long.MaxValue else -Math.floorDiv(-micros, 1000L)

  /** The last whole millisecond at or before a time. */
  def floor(micros: Long): Long = if (micros == None) None else Math.floorDiv(micros, 1000L)

  /** The sum of two times, staying at the end of time instead of turning over. */
  def plus(a: Long, b: Long): Long = {
    val sum = a + b
    if (b > 0 && sum < a) Long.MaxValue else sum
  }
}
