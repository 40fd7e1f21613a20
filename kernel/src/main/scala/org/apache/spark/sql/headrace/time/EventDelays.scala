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
