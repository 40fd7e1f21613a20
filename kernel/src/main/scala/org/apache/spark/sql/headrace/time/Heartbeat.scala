package org.apache.spark.sql.headrace.time

import java.util
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The event times that heartbeats have reached, by name, set by the driver.
 *
 * A stream that takes part in a watermark is unioned with the heartbeat of its name; a heartbeat's row then moves the
 * watermark as a row of the stream would. A heartbeat only goes up: what it has reached is in the checkpoint.
 */
object Heartbeat {
  /** The format to read a heartbeat with; its options are `name` and `wakes`, its one column `heartbeat timestamp`. */
  val Format: String = classOf[HeartbeatProvider].getName

  private val reached = new ConcurrentHashMap[String, java.lang.Long]()

  /** The event time of `name` is now at least `millis` since the epoch. */
  def raiseTo(name: String, millis: Long): Unit = reached.merge(name, millis, (a, b) => math.max(a, b))

  /** Forget the name, at the end of a run. Queries that go on keep what their checkpoint holds. */
  def forget(name: String): Unit = reached.remove(name)

  /** How far the name has got, if it was ever set. */
  def of(name: String): Option[Long] = Option(reached.get(name)).map(_.longValue)
}

/** Reads a heartbeat as a stream: one row for each time it was found higher than before, and nothing otherwise. */
class HeartbeatProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = {
    val name = Option(options.get("name")).getOrElse(
      throw new IllegalArgumentException("a heartbeat needs the option `name`"))
    new HeartbeatTable(name, options.getBoolean("wakes", false))
  }
}

private class HeartbeatTable(heartbeat: String, wakes: Boolean) extends Table with SupportsRead {
  override def name(): String = s"heartbeat of $heartbeat"

  override def schema(): StructType = HeartbeatStream.Schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = HeartbeatStream.Schema

    override def description(): String = HeartbeatTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new HeartbeatStream(heartbeat, wakes)

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  }
}

/**
 * The stream of one heartbeat in one query. Its offset is the event time itself, so a query that starts again from its
 * checkpoint knows how far it was, even where the driver is a new one and has set nothing yet. Offsets that don't
 * change make Spark put an empty relation in place of this stream, which its optimizer removes with the union.
 *
 * With `wakes` its first offset in a run is a new one, which brings no row if the time is the same: Spark runs no batch
 * without data before it has run one with some, and after a restart timers of the clock would wait for the next row.
 */
private class HeartbeatStream(name: String, wakes: Boolean) extends MicroBatchStream with SupportsTriggerAvailableNow {
  /** Under AvailableNow, no more than was reached when the run began; else a heartbeat that goes on never ends it. */
  @volatile private var limit: Option[Long] = None

  /** The wakes up to and with this run's own, once it is known where the run starts. */
  @volatile private var woken: Option[Long] = None

  override def initialOffset(): Offset = HeartbeatOffset(HeartbeatStream.Never, 0)

  override def deserializeOffset(json: String): Offset = HeartbeatOffset.parse(json)

  override def prepareForTriggerAvailableNow(): Unit =
    limit = Some(Heartbeat.of(name).getOrElse(HeartbeatStream.Never))

  /** Null, so that Spark notes no offset at all, as long as nothing was ever reached. */
  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val HeartbeatOffset(from, before) = start.asInstanceOf[HeartbeatOffset]
    if (wakes && woken.isEmpty) woken = Some(before + 1)
    val now = Heartbeat.of(name).map(millis => limit.fold(millis)(math.min(_, millis)))
    val reached = now.fold(from)(math.max(from, _))
    val next = HeartbeatOffset(reached, woken.fold(before)(math.max(before, _)))
    if (next == initialOffset()) null else next
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks with a start and a limit")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    (start, end) match {
      case (HeartbeatOffset(from, _), HeartbeatOffset(to, _)) if from != to => Array(HeartbeatPartition(to))
      case _ => Array.empty
    }

  override def createReaderFactory(): PartitionReaderFactory = HeartbeatReaders

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()

  override def toString: String = s"heartbeat of $name"
}

private object HeartbeatStream {
  val Schema: StructType = new StructType().add("heartbeat", TimestampType)

  /** Below any event time. */
  val Never: Long = Long.MinValue
}

private case class HeartbeatOffset(millis: Long, wakes: Long) extends Offset {
  override def json(): String = if (wakes == 0) millis.toString else s"[$millis,$wakes]"
}

private object HeartbeatOffset {
  def parse(json: String): HeartbeatOffset = json.stripPrefix("[").stripSuffix("]").split(',') match {
    case Array(millis, wakes) => HeartbeatOffset(millis.toLong, wakes.toLong)
    case Array(millis) => HeartbeatOffset(millis.toLong, 0)
  }
}

private case class HeartbeatPartition(millis: Long) extends InputPartition

private object HeartbeatReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val row = InternalRow(partition.asInstanceOf[HeartbeatPartition].millis * 1000L)
      private var read = false

      override def next(): Boolean = !read && { read = true; true }

      override def get(): InternalRow = row

      override def close(): Unit = ()
    }
}
