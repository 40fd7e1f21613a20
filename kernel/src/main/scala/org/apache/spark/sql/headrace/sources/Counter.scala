package org.apache.spark.sql.headrace.sources

import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.streaming.runtime.LongOffset
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Timetables of counters by name: when each row is due, in ascending milliseconds. */
object Counter {
  /** Source format; see [[CounterPace]] for its options. Its column is `number bigint`, from 0. */
  val Format: String = classOf[CounterProvider].getName
  private val timetables = new ConcurrentHashMap[String, Array[Long]]()

  /** Stores the first column of `due` as timetable `name`; returns the number of rows. */
  def schedule(name: String, due: DataFrame): Long = {
    val times = due.collect().map(_.getLong(0))
    timetables.put(name, times)
    times.length
  }

  def forget(name: String): Unit = timetables.remove(name)

  private[sources] def timetable(name: String): Array[Long] = Option(timetables.get(name))
    .getOrElse(throw new IllegalArgumentException(s"there is no timetable `$name`"))
}

/** Counts rows as a stream at a given pace. */
class CounterProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new StreamTable("counter", CounterStream.Schema)(new CounterStream(CounterPace(options)))
}

/**
 * Pace and end of a counter.
 *
 * @param rows the number of rows (`rows`); default: endless
 * @param rate rows per second (`rate`); without it and a timetable all rows are due at once
 * @param timetable when rows are due (`timetable`, a name given to [[Counter.schedule]])
 * @param speed the factor applied to the timetable (`speed`)
 * @param perBatch the maximum number of rows per micro-batch (`perBatch`)
 * @param tasks the maximum number of tasks per micro-batch (`tasks`); default: one per core
 */
private case class CounterPace(rows: Long, rate: Option[Double], timetable: Option[Array[Long]],
    speed: Double, perBatch: Long, tasks: Int) {
  def endless: Boolean = rows == Long.MaxValue

  /** Number of rows due, from 0, when a run that started at row `from` has lasted `elapsed` milliseconds. */
  def due(from: Long, elapsed: Double): Long = {
    val count = timetable match {
      case Some(times) if from < times.length => upTo(times, times(from.toInt) + (elapsed * speed).toLong)
      case Some(times) => times.length.toLong
      case None => rate.fold(rows)(perSecond => from + (perSecond * elapsed / 1000).toLong)
    }
    math.min(rows, math.max(from, count))
  }

  private def upTo(times: Array[Long], limit: Long): Long = {
    @tailrec def search(low: Int, high: Int): Int =
      if (low == high) low
      else {
        val middle = (low + high) >>> 1
        if (times(middle) <= limit) search(middle + 1, high) else search(low, middle)
      }
    search(0, times.length)
  }
}

private object CounterPace {
  def apply(options: CaseInsensitiveStringMap): CounterPace = CounterPace(
    options.getLong("rows", Long.MaxValue), Option(options.get("rate")).map(_.toDouble),
    Option(options.get("timetable")).map(Counter.timetable), options.getDouble("speed", 1.0),
    options.getLong("perBatch", Long.MaxValue), options.getInt("tasks", Int.MaxValue))
}

/**
 * The counter in one query. Its offset is the number of the next row, so an epoch always has the same rows.
 * The pace restarts with each run, so downtime causes no burst.
 *
 * Under AvailableNow a bounded counter runs to its end at its pace: it waits for the next row, because
 * reporting none would end the run. An endless one returns the rows of one second.
 */
private class CounterStream(pace: CounterPace) extends RowStream {
  private var started: Option[(Long, Long)] = None
  private var last: Option[Long] = None
  @volatile private var availableNow = false
  override def initialOffset(): Offset = LongOffset(0)
  override def deserializeOffset(json: String): Offset = LongOffset(json.toLong)
  override def prepareForTriggerAvailableNow(): Unit = availableNow = true

  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val from = start.asInstanceOf[LongOffset].offset
    val end = if (availableNow) awaitRows(from) else due(from)
    LongOffset(if (end - from > pace.perBatch) from + pace.perBatch else end)
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val (from, to) = (start.asInstanceOf[LongOffset].offset, end.asInstanceOf[LongOffset].offset)
    val wanted = math.max(1, (to - from) / CounterStream.MinRowsPerTask)
    val most = math.min(pace.tasks, SparkSession.active.sparkContext.defaultParallelism)
    val tasks = math.min(wanted, most.toLong).toInt
    Array.tabulate(tasks)(i =>
      CounterRange(from + (to - from) * i / tasks, from + (to - from) * (i + 1) / tasks))
  }

  override def toString: String = "counter"

  private def due(from: Long): Long = {
    val (first, at) = started.getOrElse {
      started = Some((from, System.nanoTime()))
      started.get
    }
    math.max(from, pace.due(first, (System.nanoTime() - at) / 1e6))
  }

  private def awaitRows(from: Long): Long =
    if (pace.endless) {
      last = last.orElse(Some(from + pace.rate.fold(1L)(rate => math.max(1L, rate.toLong))))
      last.get
    } else {
      var end = due(from)
      while (end == from && from < pace.rows) {
        Thread.sleep(CounterStream.PollMillis)
        end = due(from)
      }
      end
    }
}

private object CounterStream {
  val Schema: StructType = new StructType().add("number", LongType, nullable = false)
  val PollMillis = 20L
  val MinRowsPerTask = 1000L
}

private case class CounterRange(from: Long, until: Long) extends RowSplit {
  override def rows: Iterator[InternalRow] = new Iterator[InternalRow] {
    private var number = from
    override def hasNext: Boolean = number < until
    override def next(): InternalRow = {
      number += 1
      InternalRow(number - 1)
    }
  }
}
