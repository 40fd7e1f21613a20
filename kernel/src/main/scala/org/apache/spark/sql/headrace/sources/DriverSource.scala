package org.apache.spark.sql.headrace.sources

import java.util.Base64
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Plans the offsets of a source in the driver's Python process. Offsets are opaque texts.
 *
 * Spark's Python data sources would start a process per query, with a timeout of ten seconds.
 */
trait SplitEnumerator {
  /** Offset at which a new query starts. */
  def initial(): String

  /** AvailableNow: fixes the end offset; newer data is ignored. */
  def available(): Unit

  /** End offset of the next epoch; `start` if there is no new data. What precedes `start` is committed. */
  def latest(start: String): String

  /** Splits of an epoch, one per task, as lines of base64. Deterministic for a range. */
  def splits(start: String, end: String): String

  /** Called when everything up to `end` is committed. */
  def commit(end: String): Unit
}

/** The enumerators of this driver by name. */
object DriverSource {
  private val enumerators = new ConcurrentHashMap[String, SplitEnumerator]()

  def register(name: String, enumerator: SplitEnumerator): Unit = enumerators.put(name, enumerator)

  /** Removes an enumerator at the end of a run. */
  def unregister(name: String): Unit = enumerators.remove(name)

  private[sources] def of(name: String): SplitEnumerator = Option(enumerators.get(name))
    .getOrElse(throw new IllegalArgumentException(s"no split enumerator is registered as `$name`"))
}

/** Streams splits: option `name`, column `split binary`. */
class DriverSourceProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new StreamTable(s"driver source ${options.get("name")}", DriverSourceStream.Schema)(
      new DriverSourceStream(options.get("name"), SourceSplit(_)))
}

/** The stream of one enumerator in one query; `read` turns the bytes of a split into rows. */
private class DriverSourceStream(name: String, read: Array[Byte] => RowSplit) extends RowStream {
  private lazy val enumerator = DriverSource.of(name)
  override def initialOffset(): Offset = DriverSourceOffset(enumerator.initial())
  override def deserializeOffset(json: String): Offset = DriverSourceOffset(json)
  override def prepareForTriggerAvailableNow(): Unit = enumerator.available()
  override def latestOffset(start: Offset, limit: ReadLimit): Offset =
    DriverSourceOffset(enumerator.latest(start.json()))

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val lines = if (start == end) "" else enumerator.splits(start.json(), end.json())
    lines.split('\n').filter(_.nonEmpty).map(line => read(Base64.getDecoder.decode(line)))
  }

  override def commit(end: Offset): Unit = enumerator.commit(end.json())
  override def toString: String = s"driver source $name"
}

private object DriverSourceStream {
  val Schema: StructType = new StructType().add("split", BinaryType)
}

private case class DriverSourceOffset(position: String) extends Offset {
  override def json(): String = position
}

private case class SourceSplit(split: Array[Byte]) extends RowSplit {
  override def rows: Iterator[InternalRow] = Iterator.single(InternalRow(split))
}
