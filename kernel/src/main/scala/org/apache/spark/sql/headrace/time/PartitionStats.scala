package org.apache.spark.sql.headrace.time

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeStats, EventTimeStatsAccum}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.AccumulatorV2

/**
 * Event-time statistics of one micro-batch per source partition. To Spark's `WatermarkTracker`, which
 * reads `value` on the driver when the micro-batch has ended, it reports the event time that the
 * source has reached.
 *
 * @param complete called once, on the driver, with the highest event time per partition
 */
class PartitionStats(@transient private val complete: Map[String, Long] => Option[Long])
    extends EventTimeStatsAccum {
  import PartitionTimes.Never

  private val highest = new util.HashMap[UTF8String, Array[Long]]()
  private var heartbeat = Never
  @transient private var lastKey: UTF8String = _
  @transient private var lastCell: Array[Long] = _

  /** Adds a row. A heartbeat has no partition; a row without an event time does not count as seen. */
  def add(partition: UTF8String, hasTime: Boolean, millis: Long): Unit =
    if (partition == null) heartbeat = math.max(heartbeat, millis)
    else {
      if (!partition.equals(lastKey)) select(partition)
      if (hasTime && millis > lastCell(0)) lastCell(0) = millis
    }

  private def select(partition: UTF8String): Unit = {
    lastKey = partition.clone() // the row's memory is reused
    lastCell = highest.computeIfAbsent(lastKey, _ => Array(Never))
  }

  @transient private lazy val completed: EventTimeStats = {
    val rows = highest.asScala.map { case (partition, cell) => partition.toString -> cell(0) }.toMap
    (complete(rows) ++ Option(heartbeat).filter(_ != Never)).maxOption match {
      case Some(reached) => EventTimeStats(reached, reached, reached.toDouble, 1L)
      case None => EventTimeStats.zero
    }
  }

  override def value: EventTimeStats = if (complete == null) EventTimeStats.zero else completed

  override def isZero: Boolean = highest.isEmpty && heartbeat == Never

  override def copy(): PartitionStats = {
    val other = new PartitionStats(null)
    other.merge(this)
    other
  }

  override def reset(): Unit = {
    highest.clear()
    heartbeat = Never
    lastKey = null
  }

  override def merge(other: AccumulatorV2[Long, EventTimeStats]): Unit = other match {
    case stats: PartitionStats =>
      stats.highest.forEach((partition, cell) => add(partition, hasTime = true, cell(0)))
      heartbeat = math.max(heartbeat, stats.heartbeat)
  }
}
