package org.apache.spark.sql.headrace.kafka

import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, OnHeapColumnVector}
import org.apache.spark.sql.types.{BinaryType, LongType, StringType}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/** Records as columns: value, place and offset. Spark's generated code loops over them, without an iterator's step for each. */
private final class RecordColumns(place: String) {
  private val values = new OnHeapColumnVector(RecordColumns.Few, BinaryType)
  private val places = new ConstantColumnVector(RecordColumns.Few, StringType)
  private val offsets = new OnHeapColumnVector(RecordColumns.Few, LongType)
  places.setUtf8String(UTF8String.fromString(place))

  val batch = new ColumnarBatch(Array[ColumnVector](values, places, offsets))

  def count: Int = batch.numRows

  def clear(): Unit = {
    values.reset()
    offsets.reset()
    batch.setNumRows(0)
  }

  /** Takes the bytes in which the values of at most so many `records` lie, and tells at which place. */
  def take(bytes: Array[Byte], size: Int, records: Int): Int = {
    values.reserve(count + records)
    offsets.reserve(count + records)
    values.arrayData.appendBytes(size, bytes, 0)
  }

  /** Adds a record. A length below 0 means that it has no value. */
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

private object RecordColumns {
  private val Few = 256
}
