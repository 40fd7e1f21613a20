package org.apache.spark.sql.headrace.sources

import java.util
import java.util.Base64
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * What the driver's Python process knows of a source that it follows. Positions are texts, and only it can read them.
 *
 * Spark's own Python sources would have it in a process of their own, started for each query, with ten seconds to answer.
 */
trait SplitEnumerator {
  /** Where a new query begins. */
  def initial(): String

  /** The run takes what is there now and ends: from here on nothing newer is there. */
  def available(): Unit

  /** The end of the next epoch; `start` if there is nothing new. All before `start` has been delivered. */
  def latest(start: String): String

  /** What tasks need to read an epoch, a piece for each: lines of base64. The same range gives the same rows. */
  def pieces(start: String, end: String): String

  /** All up to here has been delivered. */
  def commit(end: String): Unit
}

/** The followers of this driver, by name. */
object DriverSource {
  private val followers = new ConcurrentHashMap[String, SplitEnumerator]()

  /** Let queries find a follower. */
  def register(name: String, follower: SplitEnumerator): Unit = followers.put(name, follower)

  /** Forget a follower, at the end of a run. */
  def forget(name: String): Unit = followers.remove(name)

  private[sources] def of(name: String): SplitEnumerator = Option(followers.get(name)).getOrElse(
    throw new IllegalArgumentException(s"nobody follows `$name`"))
}

/** Reads what a follower finds as a stream of pieces: the option `name`, the one column `piece binary`. */
class DriverSourceProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = new DriverSourceTable(options.get("name"))
}

private class DriverSourceTable(follower: String) extends Table with SupportsRead {
  override def name(): String = s"followed $follower"

  override def schema(): StructType = DriverSourceStream.Schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = DriverSourceStream.Schema

    override def description(): String = DriverSourceTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new DriverSourceStream(follower)

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  }
}

/** The stream of one follower in one query. */
private class DriverSourceStream(name: String) extends MicroBatchStream with SupportsTriggerAvailableNow {
  private lazy val follower = DriverSource.of(name)

  override def initialOffset(): Offset = DriverSourceOffset(follower.initial())

  override def deserializeOffset(json: String): Offset = DriverSourceOffset(json)

  override def prepareForTriggerAvailableNow(): Unit = follower.available()

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = DriverSourceOffset(follower.latest(start.json()))

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks with a start and a limit")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val lines = if (start == end) "" else follower.pieces(start.json(), end.json())
    lines.split('\n').filter(_.nonEmpty).map(line => SourceSplit(Base64.getDecoder.decode(line)))
  }

  override def createReaderFactory(): PartitionReaderFactory = SplitReaders

  override def commit(end: Offset): Unit = follower.commit(end.json())

  override def stop(): Unit = ()

  override def toString: String = s"followed $name"
}

private object DriverSourceStream {
  val Schema: StructType = new StructType().add("piece", BinaryType)
}

private case class DriverSourceOffset(position: String) extends Offset {
  override def json(): String = position
}

private case class SourceSplit(piece: Array[Byte]) extends InputPartition

private object SplitReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val row = InternalRow(partition.asInstanceOf[SourceSplit].piece)
      private var read = false

      override def next(): Boolean = !read && { read = true; true }

      override def get(): InternalRow = row

      override def close(): Unit = ()
    }
}
