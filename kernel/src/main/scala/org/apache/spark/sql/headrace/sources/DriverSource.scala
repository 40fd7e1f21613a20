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
 * Plans the epochs of a driver-side source, in the driver's Python process. Offsets are texts that only it interprets.
 *
 * Spark's own Python sources run in a separate process per query, which must answer within ten seconds.
 */
trait SplitEnumerator {
  /** Returns the offset at which a new query begins. */
  def initial(): String

  /** Fixes the end of the source: the run processes the available records and stops. */
  def available(): Unit

  /** Returns the end of the next epoch; `start` if there is nothing new. Everything before `start` is delivered. */
  def latest(start: String): String

  /** Returns the splits of an epoch, one per task, as lines of base64. The same range always gives the same rows. */
  def splits(start: String, end: String): String

  /** Acknowledges that everything up to an offset is delivered. */
  def commit(end: String): Unit
}

/** The split enumerators of this driver, by name. */
object DriverSource {
  private val enumerators = new ConcurrentHashMap[String, SplitEnumerator]()

  /** Registers an enumerator, so that queries find it. */
  def register(name: String, enumerator: SplitEnumerator): Unit = enumerators.put(name, enumerator)

  /** Removes an enumerator at the end of a run. */
  def unregister(name: String): Unit = enumerators.remove(name)

  private[sources] def of(name: String): SplitEnumerator = Option(enumerators.get(name)).getOrElse(
    throw new IllegalArgumentException(s"no split enumerator is registered as `$name`"))
}

/** The data source: a stream of splits of the enumerator in the option `name`, as the column `split binary`. */
class DriverSourceProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = new DriverSourceTable(options.get("name"))
}

private class DriverSourceTable(enumerator: String) extends Table with SupportsRead {
  override def name(): String = s"driver source $enumerator"

  override def schema(): StructType = DriverSourceStream.Schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = DriverSourceStream.Schema

    override def description(): String = DriverSourceTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new DriverSourceStream(enumerator)

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  }
}

/** The stream of one enumerator in one query. */
private class DriverSourceStream(name: String) extends MicroBatchStream with SupportsTriggerAvailableNow {
  private lazy val enumerator = DriverSource.of(name)

  override def initialOffset(): Offset = DriverSourceOffset(enumerator.initial())

  override def deserializeOffset(json: String): Offset = DriverSourceOffset(json)

  override def prepareForTriggerAvailableNow(): Unit = enumerator.available()

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = DriverSourceOffset(enumerator.latest(start.json()))

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark calls latestOffset(start, limit)")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val lines = if (start == end) "" else enumerator.splits(start.json(), end.json())
    lines.split('\n').filter(_.nonEmpty).map(line => SourceSplit(Base64.getDecoder.decode(line)))
  }

  override def createReaderFactory(): PartitionReaderFactory = SplitReaders

  override def commit(end: Offset): Unit = enumerator.commit(end.json())

  override def stop(): Unit = ()

  override def toString: String = s"driver source $name"
}

private object DriverSourceStream {
  val Schema: StructType = new StructType().add("split", BinaryType)
}

private case class DriverSourceOffset(position: String) extends Offset {
  override def json(): String = position
}

private case class SourceSplit(content: Array[Byte]) extends InputPartition

private object SplitReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val row = InternalRow(partition.asInstanceOf[SourceSplit].content)
      private var read = false

      override def next(): Boolean = !read && { read = true; true }

      override def get(): InternalRow = row

      override def close(): Unit = ()
    }
}
