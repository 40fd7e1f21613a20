package org.apache.spark.sql.headrace.operators

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.util.AccumulatorV2
import org.apache.spark.{SparkContext, TaskContext}

/** A part of a step's state in one epoch: what one task works on, however often it is run. */
final case class StatePartition(epoch: Long, number: Int)

/**
 * Where every row went. `rows = folded + late + pending + repeated`; a row folded into several windows is `placed` in each,
 * and `placed = settled + lost + forgotten + what is in open windows`.
 *
 * Spark runs a task again when a machine is lost, and computes a micro-batch twice where a sink looks at it twice. So what
 * is counted is kept by epoch and part of the state, and a part that comes again takes the place of what it said before.
 */
final class Counts extends AccumulatorV2[StatePartition, java.util.Map[String, java.lang.Long]] {
  // Concurrent, because an executor's heartbeat looks at it while the task counts.
  private val parts = new ConcurrentHashMap[StatePartition, Array[Long]]
  private var past = new Array[Long](Counts.Names.size)
  private var current: Array[Long] = _

  /** A part begins: what is added from here on is its. */
  override def add(part: StatePartition): Unit = {
    current = new Array[Long](Counts.Names.size)
    parts.put(part, current)
  }

  def add(which: Int, n: Long): Unit = current(which) += n

  /** A part that counts by itself, in a task of another kind. */
  def beside(part: StatePartition): Array[Long] = {
    val counts = new Array[Long](Counts.Names.size)
    parts.put(part, counts)
    counts
  }

  /** A part begins in a task; on the driver, where Spark only asks for the shape of the state, nothing does. */
  def begin(handle: StatefulProcessorHandle): Unit =
    if (TaskContext.get() != null) add(StatePartition(handle.getQueryInfo().getBatchId, Counts.part(handle)))

  /** The counts so far, by name. */
  override def value: java.util.Map[String, java.lang.Long] = synchronized {
    named(parts.values.asScala.foldLeft(past)(plus))
  }

  /** The counts so far as JSON: a map, which Python would have to fetch entry by entry, costs it a hundred calls. */
  def told: String = json(value)

  /** The counts of an epoch as JSON. */
  def of(epoch: Long): String = synchronized {
    val its = parts.asScala.collect { case (part, counts) if part.epoch == epoch => counts }
    json(named(its.foldLeft(new Array[Long](Counts.Names.size))(plus)))
  }

  /** The counts of an epoch as JSON; it and those before it are then past. */
  def take(epoch: Long): String = synchronized {
    val its = of(epoch)
    forget(epoch)
    its
  }

  override def merge(other: AccumulatorV2[StatePartition, java.util.Map[String, java.lang.Long]]): Unit = synchronized {
    val counts = other.asInstanceOf[Counts]
    counts.parts.forEach((part, its) => parts.put(part, its))
    past = plus(past, counts.past)
    // Where nobody takes epochs, only the sum of old ones is kept.
    if (parts.size > Counts.Kept) forget(parts.keys.asScala.map(_.epoch).max - 1)
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

  private def forget(until: Long): Unit = {
    val old = parts.keys.asScala.filter(_.epoch <= until).toVector
    past = old.map(parts.remove).foldLeft(past)(plus)
  }

  private def plus(a: Array[Long], b: Array[Long]): Array[Long] = Array.tabulate(a.length)(i => a(i) + b(i))

  private def named(counts: Array[Long]): java.util.Map[String, java.lang.Long] =
    Counts.Names.zip(counts).map { case (name, n) => name -> (n: java.lang.Long) }.toMap.asJava

  private def json(counts: java.util.Map[String, java.lang.Long]): String =
    counts.asScala.map { case (name, n) => s"\"$name\": $n" }.mkString("{", ", ", "}")
}

object Counts {
  val Rows = 0
  val Folded = 1
  val Late = 2
  val Pending = 3
  val Placed = 4
  val Settled = 5
  val Lost = 6
  val Missed = 7
  val Windows = 8
  val Expired = 9
  val Panes = 10
  val Retractions = 11
  val Repeated = 12
  val Forgotten = 13
  val Dropped = 14
  val TimedOut = 15

  /**
   * In the order of their numbers: rows in and where they went; row-window pairs and how they ended; windows; panes;
   * partial matches of rules that are no longer in force; those whose time was up.
   */
  val Names: Seq[String] = Seq(
    "rows", "folded", "late", "pending", "placed", "settled", "lost", "missed", "windows", "expired", "panes",
    "retractions", "repeated", "forgotten", "dropped", "timed_out")

  /** How many parts are told apart where nobody takes them. */
  private val Kept = 4096

  /** Counts that a running query adds up, read on the driver. */
  def registered(context: SparkContext): Counts = {
    val counts = new Counts
    context.register(counts)
    counts
  }

  /** Counts of this process only. */
  def local(): Counts = {
    val counts = new Counts
    counts.add(StatePartition(0, 0))
    counts
  }

  /** The number of the state's part. A task's own number is another one where parts are put together. */
  private def part(handle: StatefulProcessorHandle): Int = Try {
    val field = handle.getClass.getDeclaredField("store")
    field.setAccessible(true)
    field.get(handle).asInstanceOf[StateStore].id.partitionId
  }.getOrElse(TaskContext.getPartitionId())
}
