package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * One line of separated values a record, as RFC 4180 has it. Values go to columns in the schema's order, or with
 * `header` by the names in the record at position 0 of the partition (a file's first line).
 */
final class CsvDecoder(schema: StructType, options: DecodeOptions) extends RecordDecoder {
  private val readers = schema.fields.map(field => CsvValues.reader(field.dataType, new TextValues(options)))
  private val inOrder = schema.fields.indices.toArray
  private var headed: UTF8String = _
  private var columns: Array[Int] = if (options.header) null else inOrder

  override def restart(): Unit = if (options.header) headed = null

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    if (!UTF8String.fromBytes(bytes).isValid) throw TextDecoder.notUtf8(bytes)
    val values = new CsvSplitter(new String(bytes, UTF_8), options).split()
    if (options.header && position == 0) {
      headed = partition.clone()
      columns = null
      columns = ordinals(values)
      null
    } else {
      row(values, wanted(partition))
    }
  }

  private def wanted(partition: UTF8String): Array[Int] = {
    if (options.header) {
      if (headed != partition) {
        throw DecodeError.record("the file is read in pieces, and this one is without its header: " +
          "raise spark.sql.files.maxPartitionBytes above the file's size")
      }
      if (columns == null) throw DecodeError.record("the file's header names no column of the schema")
    }
    columns
  }

  /** For each value of a line the column it goes to, or -1. */
  private def ordinals(header: Array[CsvValue]): Array[Int] = {
    val names = schema.fieldNames.map(_.toLowerCase(java.util.Locale.ROOT))
    val found = header.map(value => names.indexOf(value.text.trim.toLowerCase(java.util.Locale.ROOT)))
    if (found.forall(_ < 0)) {
      val got = header.map(_.text).mkString(options.delimiter.toString)
      throw DecodeError.record(s"expected a header with columns of the schema, got ${DecodeError.quoted(got)}")
    }
    found
  }

  private def row(values: Array[CsvValue], columns: Array[Int]): InternalRow = {
    if (values.length != columns.length) {
      val got = if (values.length == 1 && values(0).text.isEmpty) "an empty record" else values.length.toString
      throw DecodeError.record(s"expected ${columns.length} values, got $got")
    }
    val row = new GenericInternalRow(schema.length)
    var i = 0
    while (i < values.length) {
      if (columns(i) >= 0) row.update(columns(i), value(values(i), columns(i)))
      i += 1
    }
    demand(row)
    row
  }

  private def value(found: CsvValue, column: Int): Any =
    if (!found.quoted && found.text == options.nullText) null
    else {
      val value = readers(column)(found.text)
      if (value == null) {
        val field = schema(column)
        throw DecodeError.expected(
          field.name, CsvValues.shown(field.dataType), s"string ${DecodeError.quoted(found.text)}", found.byte)
      }
      value
    }

  private def demand(row: InternalRow): Unit = schema.fields.indices.foreach { i =>
    if (!schema(i).nullable && row.isNullAt(i)) {
      throw DecodeError.field(schema(i).name, s"expected ${schema(i).dataType.simpleString}, got null or nothing")
    }
  }
}
