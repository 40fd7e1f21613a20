package org.apache.spark.sql.headrace.compat.kafka

import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, OnHeapColumnVector}
import org.apache.spark.sql.types.{BinaryType, LongType, StringType}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/** Records as columns: value, partition and offset, for vectorised reads. */
private[headrace] final class RecordColumns(partitionName: String) {
  private val values = new OnHeapColumnVector(RecordColumns.InitialCapacity, BinaryType)
  private val partitionNames = new ConstantColumnVector(RecordColumns.InitialCapacity, StringType)
  private val offsets = new OnHeapColumnVector(RecordColumns.InitialCapacity, LongType)
  partitionNames.setUtf8String(UTF8String.fromString(partitionName))

  val batch = new ColumnarBatch(Array[ColumnVector](values, partitionNames, offsets))
  def count: Int = batch.numRows

  def clear(): Unit = {
    values.reset()
    offsets.reset()
    batch.setNumRows(0)
  }

  /** Appends the bytes that contain the values of up to `records` records; returns their start. */
  def take(bytes: Array[Byte], size: Int, records: Int): Int = {
    values.reserve(count + records)
    offsets.reserve(count + records)
    values.arrayData.appendBytes(size, bytes, 0)
  }

  /** Adds a record; a negative length means null. */
  def add(offset: Long, start: Int, length: Int): Unit = {
    val row = count
    if (length < 0) values.putNull(row) else values.putArray(row, start, length)
    offsets.putLong(row, offset)
    batch.setNumRows(row + 1)
  }

  def add(offset: Long, value: Array[Byte]): Unit = {
    val bytes = if (value == null) Array.emptyByteArray else value
    add(offset, take(bytes, bytes.length, 1), if (value == null) -1 else bytes.length)
  }

  def close(): Unit = batch.close()
}

private[headrace] object RecordColumns {
  private val InitialCapacity = 256
}
