package org.apache.spark.sql.headrace.compat.kafka

import java.io.InputStream
import java.util.{Arrays => JArrays}

import org.apache.kafka.common.record.DefaultRecordBatch
import org.apache.kafka.common.utils.BufferSupplier

/**
 * Decompresses a record batch and iterates it as bytes, without Kafka's per-record objects.
 *
 * A record is its length, attributes (one byte), timestamp delta, offset delta, key, value and headers, with
 * zigzag varints.
 */
private[headrace] final class RecordBatchReader {
  private val buffers = BufferSupplier.create()
  private var bytes = new Array[Byte](1 << 16)
  private var size = 0
  private var count = 0
  private var first = 0L
  private var index = 0

  /** Offset after the batch's last record. */
  var end: Long = -1L

  def open(batch: DefaultRecordBatch): Unit = {
    decompress(batch.recordInputStream(buffers))
    count = batch.countOrNull
    first = batch.baseOffset
    end = batch.nextOffset
  }

  /** Drops the batch and moves to an offset. */
  def skip(to: Long): Unit = {
    size = 0
    count = 0
    end = to
  }

  /** Adds the records with offsets in `[from, until)`. */
  def copy(from: Long, until: Long, rows: RecordColumns): Unit = {
    val start = rows.take(bytes, size, count)
    index = 0
    var left = count
    while (left > 0) {
      val length = readVarint().toInt
      val following = index + length
      index += 1
      readVarint()
      val offset = first + readVarint()
      val key = readVarint().toInt
      if (key > 0) index += key
      val value = readVarint().toInt
      if (offset >= from && offset < until) rows.add(offset, start + index, value)
      left = if (offset < until) left - 1 else 0
      index = following
    }
  }

  def close(): Unit = buffers.close()

  private def decompress(stream: InputStream): Unit =
    try {
      size = 0
      var read = stream.read(bytes, 0, bytes.length)
      while (read > 0) {
        size += read
        if (size == bytes.length) bytes = JArrays.copyOf(bytes, 2 * size)
        read = stream.read(bytes, size, bytes.length - size)
      }
    } finally stream.close()

  private def readVarint(): Long = {
    var byte = bytes(index)
    index += 1
    var raw = (byte & 0x7f).toLong
    var shift = 7
    while (byte < 0) {
      byte = bytes(index)
      index += 1
      raw |= (byte & 0x7f).toLong << shift
      shift += 7
    }
    raw >>> 1 ^ -(raw & 1)
  }
}
