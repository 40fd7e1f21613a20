package org.apache.spark.sql.headrace.decode

import java.io.ByteArrayOutputStream

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericDatumWriter}
import org.apache.avro.io.EncoderFactory

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

class AvroSuite extends munit.FunSuite {
  private def record(fields: String): Schema = AvroDecoder
    .parse(s"""{"type": "record", "name": "R", "fields": [$fields]}""")

  private def write(schema: Schema, values: (String, Any)*): Array[Byte] = {
    val datum = new GenericData.Record(schema)
    values.foreach { case (name, value) => datum.put(name, value) }
    val out = new ByteArrayOutputStream
    val encoder = EncoderFactory.get.directBinaryEncoder(out, null)
    new GenericDatumWriter[GenericData.Record](schema).write(datum, encoder)
    out.toByteArray
  }

  private def read(writer: Schema, reader: Schema, ddl: String, bytes: Array[Byte]): Seq[Any] = {
    val columns = StructType.fromDDL(ddl)
    new AvroReading(writer, Some(reader), columns).read(bytes, 0).toSeq(columns).map {
      case text: UTF8String => text.toString
      case value => value
    }
  }

  private val writer = record(
    """{"name": "skipped", "type": "bytes"}, {"name": "n", "type": "int"}, {"name": "s", "type": "string"}""")

  test("the reader schema renames, promotes, reorders and adds fields, also for columns it does not need") {
    val reader =
      record("""{"name": "s", "type": ["null", "string"]}, {"name": "m", "aliases": ["n"], "type": "double"},
      {"name": "more", "type": {"type": "array", "items": "int"}, "default": [1, 2]}""")
    val bytes = write(writer, "skipped" -> java.nio.ByteBuffer.wrap(Array[Byte](1)), "n" -> 7, "s" -> "a")
    assertEquals(read(writer, reader, "m double, s string", bytes), Seq[Any](7.0, "a"))
    assertEquals(read(writer, reader, "s string", bytes), Seq[Any]("a"))
  }

  test("a value that the reader schema does not accept names its field, and the next record is read") {
    val optional = record("""{"name": "s", "type": ["null", "string"]}""")
    val required = record("""{"name": "s", "type": "string"}""")
    val reading = new AvroReading(optional, Some(required), StructType.fromDDL("s string"))
    val error = intercept[DecodeError](reading.read(write(optional, "s" -> null), 0))
    assertEquals((error.field, error.reason), ("s", "field `s`: expected string, got null"))
    assertEquals(reading.read(write(optional, "s" -> "b"), 0).getUTF8String(0).toString, "b")
  }

  test("different logical types of writer and reader are rejected") {
    def time(logical: String) =
      record(s"""{"name": "t", "type": ["null", {"type": "long", "logicalType": "$logical"}]}""")
    val error = intercept[IllegalArgumentException](
      AvroLogicalTypes.requireSame(time("timestamp-millis"), time("timestamp-micros")))
    assertEquals(
      error.getMessage, "field `t` was written as timestamp-millis, the reader schema has timestamp-micros")
    AvroLogicalTypes.requireSame(time("timestamp-millis"), time("timestamp-millis"))
  }

  test("lengths and counts beyond the record are errors before memory is allocated") {
    val array = record("""{"name": "a", "type": {"type": "array", "items": "null"}}""")
    val reading = new AvroReading(array, None, StructType.fromDDL("a array<string>"))
    val huge = Array[Byte](-2, -1, -1, -1, -1, -1, 7)
    assert(intercept[DecodeError](reading.read(huge, 0)).reason.contains("too many items"))
  }
}
