package org.apache.spark.sql.headrace.decode

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.Schema.Type._

/**
 * Compares the logical types of a writer and a reader. Avro's schema resolution ignores them, so that
 * milliseconds would be read as microseconds.
 */
object AvroLogicalTypes {
  /** @throws IllegalArgumentException if a field has two different ones */
  def requireSame(writer: Schema, reader: Schema): Unit = compare(writer, reader, "", mutable.Set.empty)

  private def compare(
      writer: Schema, reader: Schema, path: String, seen: mutable.Set[(Schema, Schema)]): Unit =
    (writer.getType, reader.getType) match {
      case (UNION, _) => writer.getTypes.asScala.foreach(compare(_, reader, path, seen))
      case (_, UNION) => reader.getTypes.asScala.filter(_.getType == writer.getType)
          .foreach(compare(writer, _, path, seen))
      case (ARRAY, ARRAY) => compare(writer.getElementType, reader.getElementType, path, seen)
      case (MAP, MAP) => compare(writer.getValueType, reader.getValueType, path, seen)
      case (RECORD, RECORD) if seen.add((writer, reader)) =>
        reader.getFields.asScala.foreach { field =>
          val names = field.name +: field.aliases.asScala.toSeq
          names.flatMap(name => Option(writer.getField(name))).headOption
            .foreach(written => compare(written.schema, field.schema, s"$path.${field.name}", seen))
        }
      case (same, other) if same == other => requireSameType(writer, reader, path.stripPrefix("."))
      case _ => ()
    }

  private def requireSameType(writer: Schema, reader: Schema, path: String): Unit = {
    val (written, read) = (writer.getLogicalType, reader.getLogicalType)
    if (written != null && read != null && written != read) throw new IllegalArgumentException(
      s"field `$path` was written as ${describe(writer)}, the reader schema has ${describe(reader)}")
  }

  private def describe(schema: Schema): String = schema.getLogicalType match {
    case scaled: org.apache.avro.LogicalTypes.Decimal => s"decimal(${scaled.getPrecision},${scaled.getScale})"
    case logical => logical.getName
  }
}
