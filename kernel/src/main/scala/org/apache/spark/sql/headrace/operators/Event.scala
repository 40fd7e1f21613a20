package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow

/**
 * A row with its event time in microseconds (`Time.None`: it has none), or several rows of one slice of time that were
 * combined before they came here: then `buffer` holds their aggregates, and `at` is the newest one's time.
 */
final case class Event(row: InternalRow, at: Long, rows: Long, buffer: Array[Byte]) {
  def time: Option[Long] = if (at == Time.None) None else Some(at)
}

object Event {
  def apply(row: InternalRow, time: Option[Long]): Event = new Event(row, time.getOrElse(Time.None), 1, null)
}

/** Why a row went to `late`. */
object LateReason {
  val TooLate = "too_late"
  val NoEventTime = "no_event_time"
  val Closed = "closed"
}

