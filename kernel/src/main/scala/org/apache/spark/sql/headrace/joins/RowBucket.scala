package org.apache.spark.sql.headrace.joins

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Rows in arrival order as consecutive bytes: event time, length, tag, row. A place is the offset of a row.
 * Tags are changed in place.
 */
final class RowBucket(private var bytes: Array[Byte]) {
  private var used = bytes.length
  private var modified = false
  def isEmpty: Boolean = used == 0

  /** True if a row was added or a tag changed. */
  def isModified: Boolean = modified
  def toBytes: Array[Byte] = if (used == bytes.length) bytes else Arrays.copyOf(bytes, used)

  def add(time: Long, tag: Int, row: UnsafeRow): Unit = {
    val length = row.getSizeInBytes
    val needed = used + RowBucket.Head + length
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, math.max(2 * used, needed))
    val at = Platform.BYTE_ARRAY_OFFSET + used
    Platform.putLong(bytes, at, time)
    Platform.putInt(bytes, at + 8, length)
    Platform.putInt(bytes, at + 12, tag)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, at + RowBucket.Head, length)
    used = needed
    modified = true
  }

  def time(place: Int): Long = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + place)
  def tag(place: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 12)

  def setTag(place: Int, tag: Int): Unit = {
    Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 12, tag)
    modified = true
  }

  /** The row at a place. It points into the bucket, whose rows never change. */
  def row(place: Int, fields: Int): UnsafeRow = {
    val row = new UnsafeRow(fields)
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + place + RowBucket.Head, length(place))
    row
  }

  def foreachPlace(visit: Int => Unit): Unit = {
    var place = 0
    while (place < used) {
      visit(place)
      place += RowBucket.Head + length(place)
    }
  }

  private def length(place: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + place + 8)
}

object RowBucket {
  private val Head = 16
  def empty: RowBucket = new RowBucket(Array.emptyByteArray)
  def read(bytes: Array[Byte]): RowBucket = if (bytes == null) empty else new RowBucket(bytes)
}
