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
 * @param complete called once, on the driver, with the highest time per partition and the delays of rows
 * @param seen the highest event time per partition before this micro-batch
 */
class PartitionStats(@transient private val complete: (Map[String, Long], EventDelays) => Option[Long],
    seen: Map[String, Long] = Map.empty)
    extends EventTimeStatsAccum {
  import PartitionTimes.Never

  private val delays = new EventDelays

  private val highest = new util.HashMap[UTF8String, Array[Long]]()
  private var heartbeat = Never
  @transient private var lastKey: UTF8String = _
  @transient private var lastCell: Array[Long] = _
  @transient private var clock = 0L

  /** Adds a row. A heartbeat has no partition; a row without an event time does not count as seen. */
  def add(partition: UTF8String, hasTime: Boolean, millis: Long): Unit =
    if (partition == null) heartbeat = math.max(heartbeat, millis)
    else {
      if (!partition.equals(lastKey)) select(partition)
      if (hasTime) addTime(millis)
    }

  private def addTime(millis: Long): Unit = {
    if (millis > lastCell(0)) lastCell(0) = millis
    if (millis > lastCell(1)) lastCell(1) = millis
    delays.add(clock - millis, lastCell(1) - millis)
  }

  private def select(partition: UTF8String): Unit = {
    lastKey = partition.clone() // the row's memory is reused
    lastCell = highest.computeIfAbsent(lastKey, _ => Array(Never, seen.getOrElse(lastKey.toString, Never)))
    clock = System.currentTimeMillis()
  }

  private def raise(partition: UTF8String, millis: Long): Unit = {
    val cell = highest.computeIfAbsent(partition, _ => Array(Never, Never))
    cell(0) = math.max(cell(0), millis)
  }

  @transient private lazy val completed: EventTimeStats = {
    val rows = highest.asScala.map { case (partition, cell) => partition.toString -> cell(0) }.toMap
    (complete(rows, delays) ++ Option(heartbeat).filter(_ != Never)).maxOption match {
      case Some(reached) => EventTimeStats(reached, reached, reached.toDouble, 1L)
      case None => EventTimeStats.zero
    }
  }

  override def value: EventTimeStats = if (complete == null) EventTimeStats.zero else completed

  override def isZero: Boolean = highest.isEmpty && heartbeat == Never

  override def copy(): PartitionStats = {
    val other = new PartitionStats(null, seen)
    other.merge(this)
    other
  }

  override def reset(): Unit = {
    highest.clear()
    delays.reset()
    heartbeat = Never
    lastKey = null
  }

  override def merge(other: AccumulatorV2[Long, EventTimeStats]): Unit = other match {
    case stats: PartitionStats =>
      stats.highest.forEach((partition, cell) => raise(partition, cell(0)))
      delays.merge(stats.delays)
      heartbeat = math.max(heartbeat, stats.heartbeat)
  }
}
