package org.apache.spark.sql.headrace.operators

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.json.{CreateJacksonParser, JacksonParser}
import org.apache.spark.sql.types._

/** Converts the rows of a test script from and to JSON. Times are microseconds. */
final class ScriptRows(input: StructType) {
  private val json = new ObjectMapper
  private val writer = new JsonRowWriter(json)
  private val withIntegerTimes = ScriptRows.withIntegerTimes(input).asInstanceOf[StructType]
  private val parse = new JacksonParser(withIntegerTimes, writer.options, true, Nil)
  private val unsafe = UnsafeProjection.create(withIntegerTimes)
  def read(rows: JsonNode): Vector[InternalRow] = rows.elements.asScala.map(row).toVector

  def toJson(rows: Seq[InternalRow], schema: StructType): String = {
    lazy val numbers = ScriptRows.withIntegerTimes(schema).asInstanceOf[StructType]
    rows.map(writer.text(_, numbers)).mkString("[", ",", "]")
  }

  private def row(node: JsonNode): InternalRow = {
    val create = CreateJacksonParser.string _
    unsafe(parse.parse[String](
        json.writeValueAsString(node), create, org.apache.spark.unsafe.types.UTF8String.fromString).head)
      .copy()
  }
}

object ScriptRows {
  /** Replaces time types by the integers that represent them in Spark. */
  private def withIntegerTimes(of: DataType): DataType = of match {
    case s: StructType => StructType(s.fields.map(f => f.copy(dataType = withIntegerTimes(f.dataType))))
    case a: ArrayType => a.copy(elementType = withIntegerTimes(a.elementType))
    case m: MapType => m
        .copy(keyType = withIntegerTimes(m.keyType), valueType = withIntegerTimes(m.valueType))
    case TimestampType | TimestampNTZType | _: DayTimeIntervalType => LongType
    case other => other
  }
}
