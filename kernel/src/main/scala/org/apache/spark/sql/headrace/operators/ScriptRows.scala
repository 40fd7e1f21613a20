package org.apache.spark.sql.headrace.operators

import java.io.CharArrayWriter

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.json.{CreateJacksonParser, JacksonGenerator, JacksonParser, JSONOptions}
import org.apache.spark.sql.types._

/** WindowRows of a script as JSON, in and out; times are the numbers they are inside Spark. */
final class ScriptRows(input: StructType) {
  private val json = new ObjectMapper
  private val plain = ScriptRows.plain(input).asInstanceOf[StructType]
  private val parse = new JacksonParser(plain, ScriptRows.options, true, Nil)
  private val unsafe = UnsafeProjection.create(plain)

  def read(rows: JsonNode): Vector[InternalRow] = rows.elements.asScala.map(row).toVector

  /** WindowRows of a schema as a JSON array. */
  def shown(rows: Seq[InternalRow], schema: StructType): String = {
    lazy val numbers = ScriptRows.plain(schema).asInstanceOf[StructType]
    rows.map { row =>
      val text = new CharArrayWriter
      val generator = new JacksonGenerator(numbers, text, ScriptRows.options)
      generator.write(row)
      generator.flush()
      text.toString
    }.mkString("[", ",", "]")
  }

  private def row(node: JsonNode): InternalRow = {
    val create = CreateJacksonParser.string _
    unsafe(parse.parse[String](json.writeValueAsString(node), create, org.apache.spark.unsafe.types.UTF8String.fromString).head).copy()
  }
}

object ScriptRows {
  private def options = new JSONOptions(Map("ignoreNullFields" -> "false"), "UTC")

  /** The same schema with times as the numbers they are inside Spark. */
  private def plain(of: DataType): DataType = of match {
    case s: StructType => StructType(s.fields.map(f => f.copy(dataType = plain(f.dataType))))
    case a: ArrayType => a.copy(elementType = plain(a.elementType))
    case m: MapType => m.copy(keyType = plain(m.keyType), valueType = plain(m.valueType))
    case TimestampType | TimestampNTZType | _: DayTimeIntervalType => LongType
    case other => other
  }
}

