package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

class DecoderSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL("name string, n int, at timestamp, x double")
  private val partition = UTF8String.fromString("p")

  private def decode(format: String, text: String, options: String = "{}") =
    RecordDecoder(format, schema, options).decode(text.getBytes(UTF_8), partition, 1L)

  private def values(row: InternalRow): Seq[Any] = row.toSeq(schema).map {
    case text: UTF8String => text.toString
    case value => value
  }

  private val expected = Seq[Any]("é", 7, 1000000L, 0.5)

  test("JSON escapes and exponents give the same row") {
    val plain = """{"name": "é", "n": 7, "at": "1970-01-01T00:00:01Z", "x": 0.5}"""
    val escaped = plain.replace("é", "\\u00e9")
    assertEquals(values(decode("json", plain)), expected)
    assertEquals(values(decode("json", escaped)), expected)
    assertEquals(values(decode("json", plain.replace("0.5", "5e-1"))), expected)
  }

  test("JSON errors name the field, the expectation and the byte") {
    val error = intercept[DecodeError](decode("json", """{"n": "x"}"""))
    assertEquals(error.field, "n")
    assertEquals(error.reason, "field `n`: expected int, got string \"x\" at byte 6")
    assert(intercept[DecodeError](decode("json", "{")).reason.contains("ends too early"))
  }

  test("missing, null and duplicate JSON fields") {
    val row = decode("json", """{"n": 1, "n": 2, "x": null, "more": {"a": [1]}}""")
    assertEquals(values(row), Seq[Any](null, 2, null, null))
  }

  test("CSV values may be quoted, escaped and empty") {
    val row = decode("csv", "\"a \"\"b\"\", c\",7,1970-01-01 00:00:01,")
    assertEquals(values(row), Seq[Any]("a \"b\", c", 7, 1000000L, null))
    assert(intercept[DecodeError](decode("csv", "a,b")).reason.contains("expected 4 values"))
  }

  test("ISO timestamps") {
    assertEquals(IsoTimestamp.parse("1970-01-02T00:00:00.5+01:00"), 82800500000L)
    assertEquals(IsoTimestamp.parse("2024-02-29 00:00:00"), 1709164800000000L)
    Seq("2023-02-29T00:00:00", "1970-01-01T24:00:00", "1970-01-01", "1970-01-01T00:00:00x")
      .foreach(text => assertEquals(IsoTimestamp.parse(text), IsoTimestamp.NotIso))
  }
}
