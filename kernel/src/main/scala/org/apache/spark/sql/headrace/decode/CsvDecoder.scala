package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Decodes one CSV line per record (RFC 4180). Values map to columns by position, or with `header` by the
 * names in the record at position 0 of the partition (a file's first line).
 */
final class CsvDecoder(schema: StructType, options: DecodeOptions) extends RecordDecoder {
  private val readers = schema.fields.map(field => CsvValues.reader(field.dataType, new TextValues(options)))
  private val inOrder = schema.fields.indices.toArray
  private var headerPartition: UTF8String = _
  private var columns: Array[Int] = if (options.header) null else inOrder
  override def restart(): Unit = if (options.header) headerPartition = null

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    if (!UTF8String.fromBytes(bytes).isValid) throw TextDecoder.notUtf8(bytes)
    val values = new CsvSplitter(new String(bytes, UTF_8), options).split()
    if (options.header && position == 0) {
      headerPartition = partition.clone()
      columns = null
      columns = ordinals(values)
      null
    } else { row(values, columnsOf(partition)) }
  }

  private def columnsOf(partition: UTF8String): Array[Int] = {
    if (options.header) {
      if (headerPartition != partition) {
        throw DecodeError.record("the file is read in pieces, and this one is without its header: " +
          "raise spark.sql.files.maxPartitionBytes above the file's size")
      }
      if (columns == null) throw DecodeError.record("the file's header names no column of the schema")
    }
    columns
  }

  /** For each value of a line its column, or -1. */
  private def ordinals(header: Array[CsvValue]): Array[Int] = {
    val names = schema.fieldNames.map(_.toLowerCase(java.util.Locale.ROOT))
    val value = header.map(value => names.indexOf(value.text.trim.toLowerCase(java.util.Locale.ROOT)))
    if (value.forall(_ < 0)) {
      val got = header.map(_.text).mkString(options.delimiter.toString)
      throw DecodeError.record(s"expected a header with columns of the schema, got ${DecodeError.quote(got)}")
    }
    value
  }

  private def row(values: Array[CsvValue], columns: Array[Int]): InternalRow = {
    if (values.length != columns.length) {
      val got =
        if (values.length == 1 && values(0).text.isEmpty) "an empty record" else values.length.toString
      throw DecodeError.record(s"expected ${columns.length} values, got $got")
    }
    val row = new GenericInternalRow(schema.length)
    var i = 0
    while (i < values.length) {
      if (columns(i) >= 0) row.update(columns(i), value(values(i), columns(i)))
      i += 1
    }
    requireNonNull(row)
    row
  }

  private def value(text: CsvValue, column: Int): Any =
    if (!text.quoted && text.text == options.nullText) null
    else {
      val value = readers(column)(text.text)
      if (value == null) {
        val field = schema(column)
        val got = s"string ${DecodeError.quote(text.text)}"
        val hint =
          if (isHeader(text, field.name)) "; if the first line names the columns, set header: true" else ""
        throw DecodeError.mismatch(field.name, CsvValues.describe(field.dataType), got, text.byte, hint)
      }
      value
    }

  private def isHeader(text: CsvValue, name: String): Boolean = !options.header &&
    text.text.trim.equalsIgnoreCase(name)

  private def requireNonNull(row: InternalRow): Unit = schema.fields.indices.foreach { i =>
    if (!schema(i).nullable && row.isNullAt(i)) {
      throw DecodeError
        .field(schema(i).name, s"expected ${schema(i).dataType.simpleString}, got null or nothing")
    }
  }
}
