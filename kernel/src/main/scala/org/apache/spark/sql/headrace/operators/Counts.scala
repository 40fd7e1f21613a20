package org.apache.spark.sql.headrace.operators

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.headrace.compat.HandleInternals
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.util.AccumulatorV2
import org.apache.spark.{SparkContext, TaskContext}

/** One state partition in one epoch. A task that is retried counts the same partition again. */
final case class StatePartition(epoch: Long, number: Int)

/**
 * Row accounting of one step: `rows = processed + late + buffered + duplicates + superseded + unmatched`. A
 * row in several windows is `assigned` to each: `assigned = emitted + dropped + expired + rows in open
 * windows`.
 *
 * Spark may run a task, or a whole micro-batch, more than once. Counts are therefore kept by epoch and state
 * partition, and a repeated partition replaces its earlier counts.
 */
final class Counts extends AccumulatorV2[StatePartition, java.util.Map[String, java.lang.Long]] {
  // Concurrent: the executor heartbeat reads it while the task counts.
  private val parts = new ConcurrentHashMap[StatePartition, Array[Long]]
  private var past = new Array[Long](Counts.Names.size)
  private var current: Array[Long] = _

  /** Starts a partition; later calls of `add(which, n)` count for it. */
  override def add(part: StatePartition): Unit = current = newPartition(part)

  def add(which: Int, n: Long): Unit = current(which) += n

  /** Adds a partition with its own counters, for a task outside the stateful operator. */
  def newPartition(number: Int): Array[Long] = {
    val epoch = Option(TaskContext.get())
      .flatMap(task => Option(task.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY)))
    newPartition(StatePartition(epoch.fold(0L)(_.toLong), number))
  }

  private def newPartition(part: StatePartition): Array[Long] = {
    val counts = new Array[Long](Counts.Names.size)
    parts.put(part, counts)
    counts
  }

  /** Starts the partition of a task. Does nothing on the driver, where Spark only reads the state schema. */
  def begin(handle: StatefulProcessorHandle): Unit =
    if (TaskContext.get() != null) add(StatePartition(handle.getQueryInfo().getBatchId, Counts.part(handle)))
  override def value: java.util.Map[String, java.lang.Long] =
    synchronized { byName(parts.values.asScala.foldLeft(past)(plus)) }

  /** Total counts as JSON. One call from Python; reading a Java map entry by entry takes a hundred. */
  def asJson: String = json(value)

  def of(epoch: Long): String = synchronized {
    val counters = parts.asScala.collect { case (part, counts) if part.epoch == epoch => counts }
    json(byName(counters.foldLeft(new Array[Long](Counts.Names.size))(plus)))
  }

  /** Counts of one epoch as JSON. Drops the detail of this and earlier epochs. */
  def take(epoch: Long): String = synchronized {
    val counters = of(epoch)
    compact(epoch)
    counters
  }

  override def merge(
      other: AccumulatorV2[StatePartition, java.util.Map[String, java.lang.Long]]): Unit = synchronized {
    val counts = other.asInstanceOf[Counts]
    counts.parts.forEach((part, counters) => parts.put(part, counters))
    past = plus(past, counts.past)
    // If `take` is never called, keep only the totals of older epochs.
    if (parts.size > Counts.MaxPartitions) compact(parts.keys.asScala.map(_.epoch).max - 1)
  }

  override def isZero: Boolean = parts.isEmpty && past.forall(_ == 0)
  override def copyAndReset(): Counts = new Counts
  override def copy(): Counts = {
    val other = new Counts
    other.merge(this)
    other
  }
  override def reset(): Unit = synchronized {
    parts.clear()
    past = new Array[Long](Counts.Names.size)
  }

  private def compact(until: Long): Unit = {
    val old = parts.keys.asScala.filter(_.epoch <= until).toVector
    past = old.map(parts.remove).foldLeft(past)(plus)
  }

  private def plus(a: Array[Long], b: Array[Long]): Array[Long] = Array.tabulate(a.length)(i => a(i) + b(i))
  private def byName(counts: Array[Long]): java.util.Map[String, java.lang.Long] = Counts.Names.zip(counts)
    .map { case (name, n) => name -> (n: java.lang.Long) }.toMap.asJava
  private def json(counts: java.util.Map[String, java.lang.Long]): String = counts.asScala
    .map { case (name, n) => s"\"$name\": $n" }.mkString("{", ", ", "}")
}

object Counts {
  val Rows = 0
  val Processed = 1
  val Late = 2
  val Buffered = 3
  val Assigned = 4
  val Emitted = 5
  val Dropped = 6
  val Missed = 7
  val OpenWindows = 8
  val Panes = 9
  val Retractions = 10
  val Duplicates = 11
  val Expired = 12
  val DroppedMatches = 13
  val TimedOut = 14
  val Unmatched = 15
  val Superseded = 16

  /** In index order. `RowAccounting` in Python has the same names. */
  val Names: Seq[String] = Seq(
    "rows", "processed", "late", "buffered", "assigned", "emitted", "dropped", "missed", "open_windows",
    "panes", "retractions", "duplicates", "expired", "dropped_matches", "timed_out", "unmatched",
    "superseded")

  /** Number of partitions kept in detail if `take` is never called. */
  private val MaxPartitions = 4096

  /** Creates counts that tasks update and the driver reads. */
  def create(context: SparkContext): Counts = {
    val counts = new Counts
    context.register(counts)
    counts
  }

  /** Creates counts that are local to this process. */
  def local(): Counts = {
    val counts = new Counts
    counts.add(StatePartition(0, 0))
    counts
  }

  /** Id of the state partition. It differs from the task's partition id where Spark coalesces partitions. */
  private def part(handle: StatefulProcessorHandle): Int = handle match {
    case task: StatefulProcessorHandleImpl => HandleInternals.partition(task)
        .getOrElse(TaskContext.getPartitionId())
    case _ => TaskContext.getPartitionId()
  }
}
