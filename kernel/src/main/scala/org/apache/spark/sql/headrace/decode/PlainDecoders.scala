package org.apache.spark.sql.headrace.decode

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/** One text column; fails on invalid UTF-8. */
object TextDecoder extends RecordDecoder {
  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    val text = UTF8String.fromBytes(bytes)
    if (!text.isValid) throw notUtf8(bytes)
    new GenericInternalRow(Array[Any](text))
  }

  private[decode] def notUtf8(bytes: Array[Byte]): DecodeError = {
    val at = firstBad(bytes)
    DecodeError.record(f"expected UTF-8 text, got the byte 0x${bytes(at) & 0xff}%02x at byte $at")
  }

  /** Position of the first invalid byte. */
  private def firstBad(bytes: Array[Byte]): Int = {
    val decoder = java.nio.charset.StandardCharsets.UTF_8.newDecoder()
    val in = java.nio.ByteBuffer.wrap(bytes)
    decoder.decode(in, java.nio.CharBuffer.allocate(bytes.length), true)
    in.position()
  }
}

/** One binary column with the whole record. */
object RawDecoder extends RecordDecoder {
  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow =
    new GenericInternalRow(Array[Any](bytes))
}
