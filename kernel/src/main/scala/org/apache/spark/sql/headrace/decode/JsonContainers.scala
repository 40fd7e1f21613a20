package org.apache.spark.sql.headrace.decode

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.core.io.SerializedString
import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Reads an object as a row: fields by exact name, missing ones null, the last of duplicates. Field i + 1 is
 * tried first after field i, because records usually have a fixed order.
 */
final class JsonObject(schema: StructType, values: JsonValues) extends JsonReader {
  private val names = schema.fieldNames.map(new SerializedString(_))
  private val size = names.length
  private val readers = schema.fields.map(field => values.reader(field.dataType))
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray
  private val index = new java.util.HashMap[String, Integer]
  schema.fieldNames.zipWithIndex.foreach { case (name, i) => index.put(name, i) }

  override def read(parser: JsonParser): Any = {
    if (parser.currentToken != JsonToken.START_OBJECT) throw JsonValues.mismatch(parser, "an object")
    readObject(parser)
  }

  /** Reads the object that the parser has just entered. */
  def readObject(parser: JsonParser): InternalRow = {
    val row = new GenericInternalRow(size)
    var next = 0
    var i = nextField(parser, next)
    while (i != JsonObject.End) {
      parser.nextToken()
      if (i == JsonObject.Unknown) skipUnknown(parser)
      else {
        row.update(i, readers(i).readOrNull(parser))
        next = i + 1
      }
      i = nextField(parser, next)
    }
    requireNonNull(row, parser)
    row
  }

  /** Advances to the next field; returns its ordinal, `Unknown` or `End`. */
  private def nextField(parser: JsonParser, guess: Int): Int = {
    if (guess < size) { if (parser.nextFieldName(names(guess))) return guess }
    else { parser.nextToken() }
    if (parser.currentToken != JsonToken.FIELD_NAME) return JsonObject.End
    val ordinal = index.get(parser.currentName)
    if (ordinal == null) JsonObject.Unknown else ordinal
  }

  private def skipUnknown(parser: JsonParser): Unit = {
    if (values.rejectUnknown) {
      val path = JsonValues.pathOf(parser)
      throw DecodeError.field(path, s"the schema has no such field, at byte ${JsonValues.byteOf(parser)}")
    }
    parser.skipChildren()
  }

  private def requireNonNull(row: InternalRow, parser: JsonParser): Unit = {
    var i = 0
    while (i < required.length) {
      if (row.isNullAt(required(i))) {
        val parent = JsonValues.pathOf(parser)
        val field = schema(required(i))
        val path = if (parent.isEmpty) field.name else s"$parent.${field.name}"
        throw DecodeError.field(path, s"expected ${field.dataType.simpleString}, got null or nothing")
      }
      i += 1
    }
  }
}

object JsonObject {
  private val End = -1
  private val Unknown = -2
}

/** Reads an array; elements may be null. */
final class JsonArray(element: JsonReader) extends JsonReader {
  override def read(parser: JsonParser): Any = {
    if (parser.currentToken != JsonToken.START_ARRAY) throw JsonValues.mismatch(parser, "an array")
    val values = ArrayBuffer.empty[Any]
    var token = parser.nextToken()
    while (token != JsonToken.END_ARRAY) {
      values += element.readOrNull(parser)
      token = parser.nextToken()
    }
    new GenericArrayData(values.toArray)
  }
}

/** Reads an object as a map; the last of duplicate names. */
final class JsonMap(value: JsonReader) extends JsonReader {
  override def read(parser: JsonParser): Any = {
    if (parser.currentToken != JsonToken.START_OBJECT) throw JsonValues.mismatch(parser, "an object")
    val entries = new java.util.LinkedHashMap[UTF8String, Any]
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val key = UTF8String.fromString(parser.currentName)
      parser.nextToken()
      entries.put(key, value.readOrNull(parser))
    }
    new ArrayBasedMapData(new GenericArrayData(entries.keySet.toArray.asInstanceOf[Array[Any]]),
      new GenericArrayData(entries.values.toArray.asInstanceOf[Array[Any]]))
  }
}
