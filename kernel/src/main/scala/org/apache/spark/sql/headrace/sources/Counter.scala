package org.apache.spark.sql.headrace.sources

import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Timetables of counters, by name: when each row is due, in milliseconds after the first, never falling. */
object Counter {
  /** The format to read a counter with; see [[CounterPace]] for its options. Its one column is `number bigint`, from 0 on. */
  val Format: String = classOf[CounterProvider].getName

  private val timetables = new ConcurrentHashMap[String, Array[Long]]()

  /** Keep the first column of `due`, in its order, as the timetable `name`; gives the number of rows. */
  def schedule(name: String, due: DataFrame): Long = {
    val times = due.collect().map(_.getLong(0))
    timetables.put(name, times)
    times.length
  }

  /** Forget a timetable. */
  def forget(name: String): Unit = timetables.remove(name)

  private[sources] def timetable(name: String): Array[Long] = Option(timetables.get(name)).getOrElse(
    throw new IllegalArgumentException(s"there is no timetable `$name`"))
}

/** Counts rows as a stream: each number once, as fast as its pace allows. */
class CounterProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = new CounterTable(CounterPace(options))
}

/**
 * How fast a counter goes, and how far.
 *
 * @param rows where it ends (`rows`); endless without
 * @param rate rows a second (`rate`); without it and a timetable all rows are due at once
 * @param timetable when rows are due (`timetable`, a name given to [[Counter.schedule]])
 * @param speed how much faster than the timetable (`speed`)
 * @param perBatch the most rows of a micro-batch (`perBatch`)
 */
private case class CounterPace(
    rows: Long, rate: Option[Double], timetable: Option[Array[Long]], speed: Double, perBatch: Long) {

  def endless: Boolean = rows == Long.MaxValue

  /** How many rows are due, counted from 0, when a run that began with row `from` has lasted `elapsed` milliseconds. */
  def due(from: Long, elapsed: Double): Long = {
    val count = timetable match {
      case Some(times) if from < times.length => upTo(times, times(from.toInt) + (elapsed * speed).toLong)
      case Some(times) => times.length.toLong
      case None => rate.fold(rows)(perSecond => from + (perSecond * elapsed / 1000).toLong)
    }
    math.min(rows, math.max(from, count))
  }

  /** How many of the sorted times are not above `limit`. */
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
    options.getLong("rows", Long.MaxValue),
    Option(options.get("rate")).map(_.toDouble),
    Option(options.get("timetable")).map(Counter.timetable),
    options.getDouble("speed", 1.0),
    options.getLong("perBatch", Long.MaxValue))
}

private class CounterTable(pace: CounterPace) extends Table with SupportsRead {
  override def name(): String = "counter"

  override def schema(): StructType = CounterStream.Schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = CounterStream.Schema

    override def description(): String = CounterTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new CounterStream(pace)

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  }
}

/**
 * The counter in one query. Its offset is the number of the next row, so the same epoch always has the same rows. The
 * pace starts anew with each run: rows that would have been due while nothing ran don't come in a burst.
 *
 * Under AvailableNow a counter that ends is run to its end, at its pace: it waits for the next row rather than say that
 * there is none, which would end the run. An endless one gives the rows of one second.
 */
private class CounterStream(pace: CounterPace) extends MicroBatchStream with SupportsTriggerAvailableNow {
  private var begun: Option[(Long, Long)] = None
  private var last: Option[Long] = None
  @volatile private var availableNow = false

  override def initialOffset(): Offset = CounterOffset(0)

  override def deserializeOffset(json: String): Offset = CounterOffset(json.toLong)

  override def prepareForTriggerAvailableNow(): Unit = availableNow = true

  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val from = start.asInstanceOf[CounterOffset].next
    val end = if (availableNow) awaited(from) else due(from)
    CounterOffset(if (end - from > pace.perBatch) from + pace.perBatch else end)
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks with a start and a limit")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val (from, to) = (start.asInstanceOf[CounterOffset].next, end.asInstanceOf[CounterOffset].next)
    val wanted = math.max(1, (to - from) / CounterStream.RowsWorthATask)
    val tasks = math.min(wanted, SparkSession.active.sparkContext.defaultParallelism.toLong).toInt
    Array.tabulate(tasks)(i => CounterRange(from + (to - from) * i / tasks, from + (to - from) * (i + 1) / tasks))
  }

  override def createReaderFactory(): PartitionReaderFactory = CounterReaders

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()

  override def toString: String = "counter"

  private def due(from: Long): Long = {
    val (first, at) = begun.getOrElse {
      begun = Some((from, System.nanoTime()))
      begun.get
    }
    math.max(from, pace.due(first, (System.nanoTime() - at) / 1e6))
  }

  private def awaited(from: Long): Long =
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

  val RowsWorthATask = 1000L
}

private case class CounterOffset(next: Long) extends Offset {
  override def json(): String = next.toString
}

private case class CounterRange(from: Long, until: Long) extends InputPartition

private object CounterReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val range = partition.asInstanceOf[CounterRange]
      private var number = range.from - 1

      override def next(): Boolean = { number += 1; number < range.until }

      override def get(): InternalRow = InternalRow(number)

      override def close(): Unit = ()
    }
}
