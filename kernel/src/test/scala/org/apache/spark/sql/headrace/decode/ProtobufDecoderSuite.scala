package org.apache.spark.sql.headrace.decode

import org.apache.spark.sql.headrace.encode.ProtobufEncoder
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

class ProtobufDecoderSuite extends munit.FunSuite {
  private val layout = """{"name": "shop.Payment", "form": "message", "width": 3, "fields": [
    {"number": 1, "name": "card", "column": 0, "label": "optional", "kind": "string", "oneof": "by"},
    {"number": 2, "name": "cents", "column": 1, "label": "implicit", "kind": "sint32"},
    {"number": 700, "name": "tags", "column": 2, "label": "packed", "kind": "uint32"},
    {"number": 3, "name": "cash", "oneof": "by"}]}"""
  private val schema = StructType.fromDDL("card string, cents int, tags array<bigint>")
  private val decoder = new ProtobufDecoder(MessageLayout.parse(layout), rejectUnknown = false)
  private def decode(bytes: Int*) = decoder.decode(bytes.map(_.toByte).toArray, null, 0L)
  private def reason(bytes: Int*) = intercept[DecodeError](decode(bytes: _*)).reason

  test("absent fields are null or the default") {
    val row = decode()
    assert(row.isNullAt(0))
    assertEquals((row.getInt(1), row.getArray(2).numElements()), (0, 0))
  }

  test("packed and single elements, negative numbers and high field numbers") {
    val row = decode(0x0a, 1, 'a', 0x10, 3, 0xe2, 0x2b, 2, 1, 2, 0xe0, 0x2b, 3)
    assertEquals((row.getUTF8String(0), row.getInt(1)), (UTF8String.fromString("a"), -2))
    assertEquals(row.getArray(2).toLongArray().toSeq, Seq(1L, 2L, 3L))
  }

  test("a member of a oneof without a column unsets the others") {
    assert(decode(0x0a, 1, 'a', 0x18, 1).isNullAt(0))
    assertEquals(decode(0x18, 1, 0x0a, 1, 'a').getUTF8String(0), UTF8String.fromString("a"))
  }

  test("errors have the field and the byte") {
    assertEquals(reason(0x10), "not Protobuf: the record ends too early at byte 1")
    assertEquals(
      reason(0x0d, 0, 0, 0, 0), "field `card`: expected string (wire type 2), got wire type 5 at byte 0")
  }

  test("an encoded row decodes to itself") {
    val row = decode(0x0a, 1, 'a', 0x10, 3, 0xe2, 0x2b, 2, 1, 2)
    val bytes = new ProtobufEncoder(schema, MessageLayout.parse(layout)).encode(row)
    assertEquals(bytes.toSeq, Seq(0x0a, 1, 'a', 0x10, 3, 0xe2, 0x2b, 2, 1, 2).map(_.toByte))
  }
}
