package org.apache.spark.sql.headrace.sources

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** Streams the records of a write-ahead log: option `name` is that of the split enumerator. */
class LogSourceProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new StreamTable(s"write-ahead log ${options.get("name")}", LogRecords.Schema)(
      new DriverSourceStream(options.get("name"), LogSplit(_)))
}

private case class LogSplit(split: Array[Byte]) extends RowSplit {
  override def rows: Iterator[InternalRow] = LogRecords.decode(split)
}

/** The encoding of records, as in `connectors/write_ahead_log/records.py`. */
private object LogRecords {
  val Schema: StructType = new StructType().add("value", BinaryType).add("offset", LongType)
    .add("received_at", TimestampType).add("metadata", StringType)

  /** A split is the position of its first record, then records. */
  def decode(split: Array[Byte]): Iterator[InternalRow] = {
    val buffer = ByteBuffer.wrap(split)
    val first = buffer.getLong
    Iterator.from(0).takeWhile(_ => buffer.hasRemaining).map(n => record(buffer, first + n))
  }

  /** Reads `length, checksum, received_at, id length, metadata length, id, metadata, value`. */
  private def record(buffer: ByteBuffer, position: Long): InternalRow = {
    val end = buffer.getInt + buffer.position() + 4
    buffer.getInt
    val receivedAt = buffer.getLong
    val idLength = buffer.getShort & 0xffff
    val metadata = new Array[Byte](buffer.getInt)
    buffer.position(buffer.position() + idLength)
    buffer.get(metadata)
    val value = new Array[Byte](end - buffer.position())
    buffer.get(value)
    InternalRow(value, position, receivedAt, UTF8String.fromBytes(metadata))
  }
}
