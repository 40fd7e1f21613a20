package org.apache.spark.sql.headrace.operators.state

import java.util.Arrays

import com.esotericsoftware.kryo.io.Output

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Rows in arrival order as consecutive bytes: event time, length, tag, row. A place is the offset of a row.
 * Tags are changed in place.
 *
 * @param bytes stored rows, from the offset `start` on
 */
final class RowBlock(private var bytes: Array[Byte], start: Int = 0) {
  private var end = bytes.length
  private var modified = false
  def size: Int = end - start

  /** True if a row was added or a tag changed. */
  def isModified: Boolean = modified
  def toBytes: Array[Byte] =
    if (start == 0 && end == bytes.length) bytes else Arrays.copyOfRange(bytes, start, end)
  def writeTo(out: Output): Unit = out.writeBytes(bytes, start, size)

  def add(time: Long, tag: Int, row: UnsafeRow): Unit = {
    val length = row.getSizeInBytes
    val needed = end + RowBlock.Head + length
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, math.max(2 * end, needed))
    val at = Platform.BYTE_ARRAY_OFFSET + end
    Platform.putLong(bytes, at, time)
    Platform.putInt(bytes, at + 8, length)
    Platform.putInt(bytes, at + 12, tag)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, at + RowBlock.Head, length)
    end = needed
    modified = true
  }

  def time(place: Int): Long = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + place)
  def tag(place: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 12)

  def setTag(place: Int, tag: Int): Unit = {
    Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 12, tag)
    modified = true
  }

  /** The row at a place. It points into the block, whose rows never change. */
  def row(place: Int, fields: Int): UnsafeRow = {
    val row = new UnsafeRow(fields)
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + place + RowBlock.Head, length(place))
    row
  }

  def foreachPlace(visit: Int => Unit): Unit = {
    var place = start
    while (place < end) {
      visit(place)
      place += RowBlock.Head + length(place)
    }
  }

  private def length(place: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 8)
}

object RowBlock {
  private val Head = 16
  def empty: RowBlock = new RowBlock(Array.emptyByteArray)
  def read(bytes: Array[Byte]): RowBlock = if (bytes == null) empty else new RowBlock(bytes)
}
