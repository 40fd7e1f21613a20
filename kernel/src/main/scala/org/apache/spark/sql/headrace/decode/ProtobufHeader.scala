package org.apache.spark.sql.headrace.decode

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/**
 * The header of records whose schema is in a registry: a zero byte, the id of the schema in four bytes, and
 * the index of the message in the schema: the number of its parts and the parts, each a zigzag varint; a zero
 * stands for the first message.
 */
object ProtobufHeader {
  private val IdBytes = 5
  private val MaxParts = 100

  def parse(index: JsonNode): Seq[Long] = index.elements.asScala.map(_.asLong).toSeq

  /** Reads the header; fields are matched by number, so that the schema of the id is not needed. */
  def skip(in: WireReader, index: Seq[Long], message: String): Unit = {
    val first = in.skipBytes(IdBytes)
    if (first != 0) throw DecodeError
      .record(f"expected a zero byte before the schema id, got 0x${first & 0xff}%02x at byte 0")
    val actual = readIndex(in)
    if (actual != index) throw DecodeError
      .record(s"expected the message $message, which has the index ${show(index)} in its file, " +
        s"got the index ${show(actual)}")
  }

  private def readIndex(in: WireReader): Seq[Long] = {
    val parts = ProtobufScalars.zigZag(in.readVarint())
    if (parts < 0 || parts > MaxParts)
      throw DecodeError.record(s"expected the index of a message, got $parts parts at byte $IdBytes")
    if (parts == 0) Seq(0L) else Seq.fill(parts.toInt)(ProtobufScalars.zigZag(in.readVarint()))
  }

  private def show(index: Seq[Long]): String = index.mkString(".")
}
