package org.apache.spark.sql.headrace.time

import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JsonToStructs, Literal}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.streaming.runtime.LongOffset
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Rows that the driver gives to queries by name, lot by lot. Unlike Spark's MemoryStream it forgets nothing, so that
 * several queries can read the same rows, each at its own pace, and start again from any of their checkpoints.
 */
class TestStream(val schema: StructType) {
  private val lots = new ArrayBuffer[Array[InternalRow]]()

  /** One more lot, as a JSON array of objects. Text that doesn't fit the schema is refused. */
  def add(json: String): Unit = {
    val parser = JsonToStructs(ArrayType(schema), TestStream.Strict, Literal(json), Some("UTC"))
    val rows = parser.eval().asInstanceOf[ArrayData]
    val lot = Array.tabulate(rows.numElements())(rows.getStruct(_, schema.length).copy())
    synchronized(lots += lot)
  }

  /** How many lots there are: the offset of the last one. */
  def size: Long = synchronized(lots.size.toLong)

  /** The rows of some lots. */
  def slice(from: Long, until: Long): Array[InternalRow] =
    synchronized(lots.slice(from.toInt, until.toInt).flatten.toArray)
}

object TestStream {
  /** The format to read a feed with; its one option is `name`. */
  val Format: String = classOf[TestStreamProvider].getName

  private val Strict = Map(
    "mode" -> "FAILFAST",
    "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")

  private val feeds = new ConcurrentHashMap[String, TestStream]()

  /** A new feed of that name; the schema is DDL. */
  def open(name: String, schema: String): TestStream = {
    val feed = new TestStream(DataType.fromDDL(schema).asInstanceOf[StructType].asNullable)
    feeds.put(name, feed)
    feed
  }

  /** Forget the feed; queries that read it must have ended. */
  def close(name: String): Unit = feeds.remove(name)

  private[time] def of(name: String): TestStream = Option(feeds.get(name)).getOrElse(
    throw new IllegalArgumentException(s"there is no feed `$name` in this process"))
}

/** Reads a feed, as a stream or all there is as a batch. */
class TestStreamProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = new TestStreamTable(options.get("name"))
}

private class TestStreamTable(feed: String) extends Table with SupportsRead {
  override def name(): String = s"feed $feed"

  override def schema(): StructType = TestStream.of(feed).schema

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = TestStreamTable.this.schema()

    override def description(): String = TestStreamTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new TestMicroBatchStream(TestStream.of(feed))

    override def toBatch: Batch = new Batch {
      override def planInputPartitions(): Array[InputPartition] = TestStreamPartition.of(TestStream.of(feed), 0, TestStream.of(feed).size)

      override def createReaderFactory(): PartitionReaderFactory = TestStreamReaders
    }

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  }
}

/** One query's view of a feed. The offset counts lots. */
private class TestMicroBatchStream(feed: TestStream) extends MicroBatchStream with SupportsTriggerAvailableNow {
  @volatile private var limit = Long.MaxValue

  override def initialOffset(): Offset = LongOffset(0L)

  override def deserializeOffset(json: String): Offset = LongOffset(json.toLong)

  override def prepareForTriggerAvailableNow(): Unit = limit = feed.size

  /** Null as long as nothing was ever there: no offset is noted, and no batch is run. */
  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val end = math.min(feed.size, limit)
    if (end == 0L) null else LongOffset(end)
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks with a start and a limit")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    TestStreamPartition.of(feed, start.asInstanceOf[LongOffset].offset, end.asInstanceOf[LongOffset].offset)

  override def createReaderFactory(): PartitionReaderFactory = TestStreamReaders

  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()
}

private case class TestStreamPartition(rows: Array[InternalRow]) extends InputPartition

private object TestStreamPartition {
  def of(feed: TestStream, from: Long, until: Long): Array[InputPartition] = Array(TestStreamPartition(feed.slice(from, until)))
}

private object TestStreamReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val rows = partition.asInstanceOf[TestStreamPartition].rows.iterator
      private var row: InternalRow = _

      override def next(): Boolean = rows.hasNext && { row = rows.next(); true }

      override def get(): InternalRow = row

      override def close(): Unit = ()
    }
}
