package org.apache.spark.sql.headrace.decode

import java.util.{LinkedHashMap => JLinkedHashMap}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.avro.generic.{GenericData, GenericDatumReader}
import org.apache.avro.io.{Decoder, ResolvingDecoder}
import org.apache.avro.{AvroTypeException, Schema}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Reads a record: each field into the column of its name; other fields are skipped. */
final class AvroRecord(schema: Schema, columns: StructType) extends AvroReader {
  private val fields = schema.getFields.asScala.toArray
  private val ordinals = fields.map(field => columns.fieldNames.indexOf(field.name))
  private lazy val readers = fields.zip(ordinals).map { case (field, ordinal) =>
    if (ordinal < 0) new AvroSkip(field.schema)
    else AvroValues.reader(field.schema, columns(ordinal).dataType)
  }
  private val required = columns.fields.indices.filterNot(columns(_).nullable).toArray

  override def read(in: Decoder): InternalRow = {
    val row = new GenericInternalRow(columns.length)
    in match {
      case resolving: ResolvingDecoder => resolving.readFieldOrder().foreach(field => set(row, field.pos, in))
      case _ =>
        var i = 0
        while (i < fields.length) {
          set(row, i, in)
          i += 1
        }
    }
    requireNonNull(row)
    row
  }

  private def set(row: InternalRow, field: Int, in: Decoder): Unit =
    try {
      val value = readers(field).read(in)
      if (ordinals(field) >= 0) row.update(ordinals(field), value)
    } catch {
      case error: AvroError => throw error.inside(fields(field).name)
      case error: AvroTypeException =>
        throw new AvroError(AvroRecord.describe(error), List(fields(field).name))
    }

  private def requireNonNull(row: InternalRow): Unit = {
    var i = 0
    while (i < required.length) {
      if (row.isNullAt(required(i))) {
        val column = columns(required(i))
        throw new AvroError(s"expected ${column.dataType.simpleString}, got null or nothing")
          .inside(column.name)
      }
      i += 1
    }
  }
}

object AvroRecord {
  private val Mismatch = "Found (.+?), expecting (.+?)(?:, missing required field .*)?".r

  /** Returns the message of an error of Avro's schema resolution, in the words of other errors. */
  def describe(error: Exception): String = String.valueOf(error.getMessage) match {
    case Mismatch(got, expected) => s"expected $expected, got $got"
    case message => message
  }
}

/** Reads a record that is one value, not a record with fields, into the only column. */
final class AvroSingle(schema: Schema, columns: StructType) extends AvroReader {
  private val value = AvroValues.reader(schema, columns(0).dataType)

  override def read(in: Decoder): InternalRow = {
    val content =
      try value.read(in)
      catch { case error: AvroError => throw error.inside(columns(0).name) }
    if (content == null && !columns(0).nullable)
      throw new AvroError(s"expected ${columns(0).dataType.simpleString}, got null", List(columns(0).name))
    new GenericInternalRow(Array[Any](content))
  }
}

final class AvroSkip(schema: Schema) extends GenericDatumReader[Any](GenericData.get) with AvroReader {
  override def read(in: Decoder): Any = in match {
    case resolving: ResolvingDecoder => read(null, schema, resolving)
    case _ => GenericDatumReader.skip(schema, in)
  }
}

/** Reads a value of a union by the reader of its branch. */
final class AvroUnion(branches: Array[AvroReader]) extends AvroReader {
  override def read(in: Decoder): Any = {
    val branch = in.readIndex()
    if (branch < 0 || branch >= branches.length)
      throw new AvroError(s"expected one of ${branches.length} branches of a union, got $branch")
    branches(branch).read(in)
  }
}

/** Reads a symbol of an enum as text. */
final class AvroEnum(schema: Schema) extends AvroReader {
  private val symbols = schema.getEnumSymbols.asScala.map(UTF8String.fromString).toArray

  override def read(in: Decoder): Any = {
    val symbol = in.readEnum()
    if (symbol < 0 || symbol >= symbols.length)
      throw new AvroError(s"expected one of ${symbols.length} symbols of ${schema.getFullName}, got $symbol")
    symbols(symbol)
  }
}

final class AvroArray(element: AvroReader) extends AvroReader {
  override def read(in: Decoder): Any = {
    val values = ArrayBuffer.empty[Any]
    var count = in.readArrayStart()
    while (count > 0) {
      while (count > 0) {
        values += element.read(in)
        count -= 1
      }
      count = in.arrayNext()
    }
    new GenericArrayData(values.toArray)
  }
}

/** Reads a map; the last of duplicate keys. */
final class AvroMap(value: AvroReader) extends AvroReader {
  override def read(in: Decoder): Any = {
    val entries = new JLinkedHashMap[UTF8String, Any]
    var count = in.readMapStart()
    while (count > 0) {
      while (count > 0) {
        entries.put(AvroValues.text(in.readString(null)), value.read(in))
        count -= 1
      }
      count = in.mapNext()
    }
    new ArrayBasedMapData(new GenericArrayData(entries.keySet.toArray.asInstanceOf[Array[Any]]),
      new GenericArrayData(entries.values.toArray.asInstanceOf[Array[Any]]))
  }
}
