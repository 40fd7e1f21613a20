package org.apache.spark.sql.headrace.time

import org.apache.spark.util.Clock

/**
 * The highest event time per partition of a source, and the event time that the source as a whole
 * has reached: the minimum over the partitions that take part.
 *
 * One instance per watermark operator of a query, on the driver. A partition takes part from its
 * first row with an event time until it is idle; a partition whose records are all unread holds
 * the source back.
 *
 * @param idleMillis the `idle` setting of the step, or a negative number if it is unset
 * @param partitioned true if rows differ in their partition
 */
class PartitionTimes(idleMillis: Long, clock: Clock, store: Option[PartitionTimesStore] = None,
    val partitioned: Boolean = false) {
  import PartitionTimes._

  private var partitions = Map.empty[String, Partition]
  private var unread = Set.empty[String]
  private var published = Never
  private var running = false
  private var restored = store.isEmpty
  private val sums = new EventDelays

  /** Called when a micro-batch starts: its rows are in flight, so the source is not idle. */
  def begin(): Unit = synchronized { running = true }

  /**
   * Called when a micro-batch has ended, before its epoch commits.
   *
   * @param epoch the micro-batch, if it is known
   * @param rows the highest event time per partition that delivered rows; `Never` if none had one
   * @param behind the partitions with unread records, as of the planning of this micro-batch
   * @return the event time that the source has reached; None if it does not advance
   */
  def complete(
      epoch: Option[Long], rows: Map[String, Long], behind: Set[String]): Option[Long] = synchronized {
    val now = clock.getTimeMillis()
    restore(epoch, now)
    partitions ++= rows.map { case (name, highest) =>
      name -> Partition(math.max(highest, partitions.get(name).fold(Never)(_.highest)), now)
    }
    unread = behind
    running = false
    for (files <- store; number <- epoch) files.write(number, highestTimes)
    val reached = lowest(now)
    published = math.max(published, reached.getOrElse(Never))
    reached
  }

  /**
   * The event time that the source has reached because time has passed and no row came: some
   * partitions became idle, or all of them, in which case it advances with the clock.
   */
  def tick(): Option[Long] = synchronized {
    val now = clock.getTimeMillis()
    if (running || seen.isEmpty) None
    else if (idleMillis >= 0 && unread.isEmpty && partitions.values.forall(isQuiet(_, now)))
      Some(seen.values.map(_.highest).max + now - partitions.values.map(_.lastRow).max)
    else lowest(now).filter(_ > published)
  }

  /** The partition that determines the watermark, if any, and the event time it has reached. */
  def slowest: Option[(String, Long)] = synchronized {
    val active = participants(clock.getTimeMillis())
    if (blocked.nonEmpty) Some(blocked.min -> Never)
    else active.minByOption { case (name, partition) => (partition.highest, name) }
      .map { case (name, partition) => name -> partition.highest }
  }

  /** The highest event time per partition. */
  def highestTimes: Map[String, Long] = synchronized(seen.map { case (name, partition) =>
    name -> partition.highest
  })

  /** Adds the delays of the rows of a micro-batch. */
  def addDelays(delays: EventDelays): Unit = synchronized(sums.merge(delays))

  /** The delays of all rows of this run. */
  def delays: EventDelays = synchronized {
    val copy = new EventDelays
    copy.merge(sums)
    copy
  }

  /** The partition with the highest event time, if that is further ahead of the clock than `limitMillis`. */
  def ahead(limitMillis: Long): Option[(String, Long)] = synchronized {
    seen.maxByOption(_._2.highest).map { case (name, partition) => name -> partition.highest }
      .filter(_._2 - limitMillis > clock.getTimeMillis())
  }

  private def seen: Map[String, Partition] = partitions.filter(_._2.highest != Never)

  /** Partitions with unread records of which no row has been seen. */
  private def blocked: Set[String] = unread
    .filterNot(partition => seen.keysIterator.exists(matches(_, partition)))

  private def lowest(now: Long): Option[Long] =
    if (blocked.nonEmpty) None else participants(now).values.map(_.highest).minOption

  private def participants(now: Long): Map[String, Partition] = {
    val top = seen.values.map(_.highest).maxOption
    seen.filter { case (name, partition) =>
      !isQuiet(partition, now) || unread.exists(matches(name, _)) ||
      (idleMillis < 0 && top.contains(partition.highest))
    }
  }

  private def isQuiet(partition: Partition, now: Long): Boolean = now - partition.lastRow >=
    (if (idleMillis < 0) DefaultTimeoutMillis else idleMillis)

  /** Reads the times as of the epoch before, once. The idle timeouts start again. */
  private def restore(epoch: Option[Long], now: Long): Unit = if (!restored) {
    restored = true
    for (files <- store; number <- epoch) partitions ++= files.read(number).map { case (name, highest) =>
      name -> Partition(highest, now)
    }
  }
}

object PartitionTimes {
  /** Below any event time. */
  val Never: Long = Long.MinValue

  /** The partition timeout of a step without `idle`. */
  val DefaultTimeoutMillis: Long = 10000L

  private case class Partition(highest: Long, lastRow: Long)

  /** With several sources the name of a partition is `source/partition`; offsets lack the source. */
  private def matches(name: String, partition: String): Boolean = name == partition ||
    name.endsWith("/" + partition)
}
