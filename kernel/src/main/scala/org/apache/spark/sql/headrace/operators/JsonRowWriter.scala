package org.apache.spark.sql.headrace.operators

import java.io.CharArrayWriter

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.sql.types.{StructType, TimestampType}

/** Converts rows to JSON as Spark's `to_json` does, with nulls, times in UTC. */
final class JsonRowWriter(mapper: ObjectMapper) {
  val options: JSONOptions = new JSONOptions(Map("ignoreNullFields" -> "false"), "UTC")
  private val moment = new StructType().add("at", TimestampType)

  def row(of: InternalRow, shape: StructType): JsonNode = mapper.readTree(text(of, shape))

  def text(of: InternalRow, shape: StructType): String = {
    val written = new CharArrayWriter
    val generator = new JacksonGenerator(shape, written, options)
    generator.write(of)
    generator.close()
    written.toString
  }

  /** Converts a time in microseconds. */
  def time(of: Long): JsonNode = row(new GenericInternalRow(Array[Any](of)), moment).get("at")
}
