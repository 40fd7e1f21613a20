package org.apache.spark.sql.headrace.encode

import java.util.Arrays

/** Writes values in Protobuf's wire format. */
final class WireWriter {
  private var bytes = new Array[Byte](64)
  private var size = 0

  def toByteArray: Array[Byte] = Arrays.copyOf(bytes, size)

  def writeTag(number: Int, wireType: Int): Unit = writeVarint((number.toLong << 3) | wireType)

  def writeVarint(value: Long): Unit = {
    var rest = value
    while ((rest & ~0x7fL) != 0) {
      writeByte(((rest & 0x7f) | 0x80).toByte)
      rest >>>= 7
    }
    writeByte(rest.toByte)
  }

  def writeFixed32(value: Int): Unit = writeLittleEndian(value, 4)
  def writeFixed64(value: Long): Unit = writeLittleEndian(value, 8)

  def writeBytes(value: Array[Byte]): Unit = {
    writeVarint(value.length)
    append(value, value.length)
  }

  /** Writes what `write` writes, after its length. */
  def writeNested(write: WireWriter => Unit): Unit = {
    val nested = new WireWriter
    write(nested)
    writeVarint(nested.size)
    append(nested.bytes, nested.size)
  }

  private def writeLittleEndian(value: Long, width: Int): Unit = (0 until width)
    .foreach(i => writeByte((value >>> (8 * i)).toByte))

  private def writeByte(value: Byte): Unit = {
    reserve(1)
    bytes(size) = value
    size += 1
  }

  def append(value: Array[Byte], length: Int): Unit = {
    reserve(length)
    System.arraycopy(value, 0, bytes, size, length)
    size += length
  }

  private def reserve(length: Int): Unit =
    if (size + length > bytes.length) bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, size + length))
}
