package org.apache.spark.sql.headrace.decode

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.avro.io.Decoder
import org.apache.avro.util.Utf8

import scala.util.control.NoStackTrace

/** The reason why an Avro value cannot be read, and the names of the record fields on the way to it. */
final class AvroError(val what: String, val path: List[String] = Nil)
    extends RuntimeException(what) with NoStackTrace {
  def inside(field: String): AvroError = new AvroError(what, field :: path)
}

/**
 * Reads Avro's binary encoding from an array. Avro's own decoder allocates the length that a corrupt record
 * claims; this one compares every length with the bytes that are left, and reports the byte of an error.
 */
final class AvroBytes extends Decoder {
  private var bytes = Array.emptyByteArray
  private var at = 0
  private var items = 0L

  def reset(record: Array[Byte], from: Int): Unit = {
    bytes = record
    at = from
    items = record.length + AvroBytes.MaxEmptyItems
  }

  def position: Int = at
  def remaining: Int = bytes.length - at

  override def readNull(): Unit = ()

  override def readBoolean(): Boolean = {
    val start = take(1)
    if (bytes(start) > 1 || bytes(start) < 0)
      throw new AvroError(f"expected 0 or 1 of a boolean, got 0x${bytes(start) & 0xff}%02x at byte $start")
    bytes(start) == 1
  }

  override def readInt(): Int = {
    val start = at
    val value = readLong()
    if (value != value.toInt) throw new AvroError(s"expected an int, got $value at byte $start")
    value.toInt
  }

  override def readLong(): Long = {
    val start = at
    var shift = 0
    var value = 0L
    var more = true
    while (more) {
      if (shift > 63) throw new AvroError(s"expected a number of at most ten bytes at byte $start")
      val byte = bytes(take(1))
      value |= (byte & 0x7fL) << shift
      shift += 7
      more = byte < 0
    }
    (value >>> 1) ^ -(value & 1)
  }

  override def readFloat(): Float = java.lang.Float.intBitsToFloat(littleEndian(take(4), 4).toInt)
  override def readDouble(): Double = java.lang.Double.longBitsToDouble(littleEndian(take(8), 8))
  override def readString(old: Utf8): Utf8 = new Utf8(readArray())
  override def readString(): String = new String(readArray(), UTF_8)
  override def skipString(): Unit = skipBytes()
  override def readBytes(old: ByteBuffer): ByteBuffer = ByteBuffer.wrap(readArray())
  override def skipBytes(): Unit = take(readLength())
  override def skipFixed(length: Int): Unit = take(length)
  override def readFixed(target: Array[Byte], start: Int, length: Int): Unit = System
    .arraycopy(bytes, take(length), target, start, length)
  override def readEnum(): Int = readInt()
  override def readIndex(): Int = readInt()
  override def readArrayStart(): Long = readBlock()
  override def arrayNext(): Long = readBlock()
  override def skipArray(): Long = skipBlocks()
  override def readMapStart(): Long = readBlock()
  override def mapNext(): Long = readBlock()
  override def skipMap(): Long = skipBlocks()

  private def readArray(): Array[Byte] = {
    val length = readLength()
    val start = take(length)
    java.util.Arrays.copyOfRange(bytes, start, start + length)
  }

  private def readLength(): Int = {
    val start = at
    val length = readLong()
    if (length < 0 || length > remaining)
      throw new AvroError(s"expected a length of at most $remaining, got $length at byte $start")
    length.toInt
  }

  /** Reads the number of items in a block; items without bytes, such as nulls, are limited. */
  private def readBlock(): Long = {
    val start = at
    val count = readLong()
    val size =
      if (count < 0) { readLong(); -count }
      else count
    items -= size
    if (size < 0 || items < 0) throw new AvroError(s"too many items in the block at byte $start")
    size
  }

  /** Skips blocks with a size; returns the number of items in the next block without one. */
  private def skipBlocks(): Long = {
    var count = readLong()
    while (count < 0) {
      take(readLength())
      count = readLong()
    }
    items -= count
    if (items < 0) throw new AvroError(s"too many items in the block before byte $at")
    count
  }

  private def take(length: Int): Int = {
    if (length > remaining) throw new AvroError(s"the record ends too early, at byte ${bytes.length}")
    val start = at
    at += length
    start
  }

  private def littleEndian(start: Int, length: Int): Long = {
    var value = 0L
    var i = length - 1
    while (i >= 0) {
      value = (value << 8) | (bytes(start + i) & 0xffL)
      i -= 1
    }
    value
  }
}

object AvroBytes {
  private val MaxEmptyItems = 1000000L
}
