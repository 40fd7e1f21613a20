package org.apache.spark.sql.headrace.decode

import java.lang.{Long => JLong}
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.spark.unsafe.types.UTF8String

/** Reads values of Protobuf's wire format from a record. */
final class WireReader(bytes: Array[Byte]) {
  private val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
  private var end = bytes.length

  def position: Int = buffer.position()
  def hasMore: Boolean = buffer.position() < end

  /** Reads the number and wire type of the next field. */
  def readTag(): Int = {
    val at = position
    val tag = readVarint()
    if (tag >>> 32 != 0 || tag >>> 3 == 0)
      throw WireReader.error(s"expected a field, got the tag ${JLong.toUnsignedString(tag)}", at)
    tag.toInt
  }

  def readVarint(): Long = {
    val at = position
    var value = 0L
    var shift = 0
    while (shift < 64) {
      val byte = readByte()
      value |= (byte & 0x7fL) << shift
      if (byte >= 0) {
        if (shift == 63 && byte > 1) throw WireReader.error("a varint has more than 64 bits", at)
        return value
      }
      shift += 7
    }
    throw WireReader.error("a varint has more than 10 bytes", at)
  }

  def readFixed32(): Int = {
    require(4)
    buffer.getInt()
  }

  def readFixed64(): Long = {
    require(8)
    buffer.getLong()
  }

  /** Skips bytes and returns the first. */
  def skipBytes(length: Int): Byte = {
    require(length)
    val first = bytes(position)
    buffer.position(position + length)
    first
  }

  def readBytes(): Array[Byte] = {
    val value = new Array[Byte](readLength())
    buffer.get(value)
    value
  }

  /** Reads text; null if it is not UTF-8. */
  def readText(): UTF8String = {
    val text = UTF8String.fromBytes(readBytes())
    if (text.isValid) text else null
  }

  /** Reads a length, and then with `read` until the end of that many bytes. */
  def readNested(read: => Unit): Unit = {
    val length = readLength()
    val outer = end
    end = position + length
    try read
    finally end = outer
  }

  /** Skips the value of a field; groups, which have no length, with all of their fields. */
  def skip(tag: Int, depth: Int = 0): Unit = tag & 7 match {
    case WireReader.Varint => readVarint()
    case WireReader.Fixed64 => readFixed64()
    case WireReader.Bytes =>
      val length = readLength()
      buffer.position(position + length)
    case WireReader.Group => skipGroup(tag >>> 3, depth + 1)
    case WireReader.Fixed32 => readFixed32()
    case WireReader.EndGroup =>
      throw WireReader.error(s"the group ${tag >>> 3} ends but did not start", position)
    case other => throw WireReader.error(s"unknown wire type $other", position)
  }

  private def skipGroup(number: Int, depth: Int): Unit = {
    if (depth > WireReader.MaxDepth) throw WireReader.error("groups are nested too deeply", position)
    var tag = readTag()
    while ((tag & 7) != WireReader.EndGroup) {
      skip(tag, depth)
      tag = readTag()
    }
    if (tag >>> 3 != number) throw WireReader.error(s"the group $number ends as ${tag >>> 3}", position)
  }

  private def readLength(): Int = {
    val at = position
    val length = readVarint()
    if (length < 0 || length > Int.MaxValue)
      throw WireReader.error(s"a value has ${JLong.toUnsignedString(length)} bytes", at)
    require(length)
    length.toInt
  }

  private def readByte(): Byte = {
    require(1)
    buffer.get()
  }

  private def require(length: Long): Unit = if (length > end - position) {
    val what = if (end == bytes.length) "the record" else "a message inside the record"
    throw WireReader.error(s"$what ends too early", end)
  }
}

object WireReader {
  val Varint = 0
  val Fixed64 = 1
  val Bytes = 2
  val Group = 3
  val EndGroup = 4
  val Fixed32 = 5

  /** The depth to which Google's parsers follow groups. */
  private val MaxDepth = 100

  private def error(what: String, at: Int): DecodeError = DecodeError
    .record(s"not Protobuf: $what at byte $at")

  /** Returns the wire type of one value of a scalar type. */
  def wireType(kind: String): Int = kind match {
    case "double" | "fixed64" | "sfixed64" => Fixed64
    case "float" | "fixed32" | "sfixed32" => Fixed32
    case "string" | "bytes" | "message" => Bytes
    case _ => Varint
  }
}
