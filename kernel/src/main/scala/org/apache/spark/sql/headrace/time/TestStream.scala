package org.apache.spark.sql.headrace.time

import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, JsonToStructs, Literal}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.connector.catalog.{Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.streaming.runtime.LongOffset
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.headrace.sources.{RowReaders, RowSplit, RowStream, StreamTable}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Rows that tests add to a named stream, batch by batch. Unlike Spark's MemoryStream it keeps all rows, so
 * several queries can read them, each at its own pace and from any checkpoint.
 */
class TestStream(val schema: StructType) {
  private val batches = new ArrayBuffer[Array[InternalRow]]()

  /** Adds a batch as a JSON array of objects; rejects text that does not fit the schema. */
  def add(json: String): Unit = {
    val read = TestStream.withTextKeys(ArrayType(schema))
    val parser = JsonToStructs(read, TestStream.Strict, Literal(json), Some("UTC"))
    val rows = Cast(parser, ArrayType(schema), Some("UTC")).eval().asInstanceOf[ArrayData]
    val batch = Array.tabulate(rows.numElements())(rows.getStruct(_, schema.length).copy())
    synchronized(batches += batch)
  }

  /** Number of batches: the latest offset. */
  def size: Long = synchronized(batches.size.toLong)

  def slice(from: Long, until: Long): Array[InternalRow] =
    synchronized(batches.slice(from.toInt, until.toInt).flatten.toArray)
}

object TestStream {
  /** Source format; its option is `name`. */
  val Format: String = classOf[TestStreamProvider].getName

  private val Strict = Map("mode" -> "FAILFAST", "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")

  /** Replaces the types of keys of maps, which are text in JSON; Spark's parser does not convert them. */
  private def withTextKeys(of: DataType): DataType = of match {
    case s: StructType => StructType(s.fields.map(f => f.copy(dataType = withTextKeys(f.dataType))))
    case a: ArrayType => a.copy(elementType = withTextKeys(a.elementType))
    case m: MapType => MapType(StringType, withTextKeys(m.valueType), m.valueContainsNull)
    case other => other
  }

  private val streams = new ConcurrentHashMap[String, TestStream]()

  def open(name: String, schema: String): TestStream = {
    val stream = new TestStream(DataType.fromDDL(schema).asInstanceOf[StructType].asNullable)
    streams.put(name, stream)
    stream
  }

  /** Removes a stream; queries that read it must have ended. */
  def close(name: String): Unit = streams.remove(name)

  private[time] def of(name: String): TestStream = Option(streams.get(name))
    .getOrElse(throw new IllegalArgumentException(s"unknown test stream `$name`"))
}

class TestStreamProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new TestStreamTable(TestStream.of(options.get("name")), options.get("name"))
}

private class TestStreamTable(stream: TestStream, name: String)
    extends StreamTable(s"test stream $name", stream.schema)(new TestMicroBatchStream(stream)) {
  override def capabilities(): util.Set[TableCapability] = util.EnumSet
    .of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ)
  override protected def batch: Batch = new Batch {
    override def planInputPartitions(): Array[InputPartition] =
      Array(TestStreamSplit(stream.slice(0, stream.size)))
    override def createReaderFactory(): PartitionReaderFactory = RowReaders
  }
}

/** One query's view of a test stream; offsets count batches. */
private class TestMicroBatchStream(stream: TestStream) extends RowStream {
  @volatile private var limit = Long.MaxValue
  override def initialOffset(): Offset = LongOffset(0L)
  override def deserializeOffset(json: String): Offset = LongOffset(json.toLong)
  override def prepareForTriggerAvailableNow(): Unit = limit = stream.size

  /** Returns null, so that no batch runs, while there is no data. */
  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val end = math.min(stream.size, limit)
    if (end == 0L) null else LongOffset(end)
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = Array(
    TestStreamSplit(stream.slice(start.asInstanceOf[LongOffset].offset, end.asInstanceOf[LongOffset].offset)))

}

private case class TestStreamSplit(batch: Array[InternalRow]) extends RowSplit {
  override def rows: Iterator[InternalRow] = batch.iterator
}
