package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow

/**
 * A row with its event time in microseconds (`Time.None`: no event time), or several pre-aggregated
 * rows of one time slice: then `buffer` holds their aggregates and `at` is the newest row's time.
 */
final case class Event(row: InternalRow, at: Long, rows: Long, buffer: Array[Byte]) {
  def time: Option[Long] = if (at == Time.None) None else Some(at)
}

object Event {
  def apply(row: InternalRow, time: Option[Long]): Event = new Event(row, time.getOrElse(Time.None), 1, null)
}

/** Reasons of late rows. */
object LateReason {
  val TooLate = "too_late"
  val NoEventTime = "no_event_time"
  val Closed = "closed"
}

