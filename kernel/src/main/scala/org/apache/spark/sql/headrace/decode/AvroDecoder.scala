package org.apache.spark.sql.headrace.decode

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.avro.Schema
import org.apache.avro.io.DecoderFactory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.decode.registry.{RegistryOptions, SchemaRegistry}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The options of Avro records.
 *
 * @param schema the writer schema of records without an id, and the reader schema of all records
 */
final case class AvroOptions(schema: Option[String], registry: Option[RegistryOptions])

object AvroOptions {
  def parse(json: String): AvroOptions = {
    val chosen = new ObjectMapper().readTree(json)
    AvroOptions(Option(chosen.path("schema").textValue),
      Option(chosen.path("registry")).filter(_.isObject).map(RegistryOptions.parse))
  }
}

/**
 * Decodes one Avro value per record. With a registry, a record starts with a zero byte and the id of its
 * schema; the reader of an id is compiled once per task.
 */
final class AvroDecoder(columns: StructType, options: AvroOptions) extends RecordDecoder {
  import AvroDecoder._

  private val registry = options.registry.map(SchemaRegistry(_)).orNull
  private val reader = options.schema.map(parse(_))
  private lazy val plain = new AvroReading(reader.get, None, columns)
  private val byId = mutable.LongMap.empty[Either[String, AvroReading]]

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow =
    if (registry == null) plain.read(bytes, 0)
    else {
      val id = idOf(bytes)
      byId.getOrElseUpdate(id, readingOf(id))
        .fold(reason => throw DecodeError.record(reason), _.read(bytes, HeaderBytes))
    }

  /** An unknown id may be registered later. */
  override def restart(): Unit = byId.filterInPlace((_, reading) => reading.isRight)

  private def idOf(bytes: Array[Byte]): Int = {
    if (bytes.length < HeaderBytes) throw DecodeError
      .record(s"expected a zero byte and a schema id in four bytes, got ${bytes.length} bytes")
    if (bytes(0) != 0) throw DecodeError
      .record(f"expected a zero byte before the schema id, got 0x${bytes(0) & 0xff}%02x at byte 0")
    ByteBuffer.wrap(bytes, 1, 4).getInt
  }

  private def readingOf(id: Int): Either[String, AvroReading] = registry.schema(id) match {
    case None => Left(s"unknown schema id $id: the registry at ${options.registry.get} does not have it")
    case Some(schema) if schema.kind != "AVRO" => Left(s"the schema $id is of type ${schema.kind}, not AVRO")
    case Some(schema) =>
      try Right(new AvroReading(parse(schema.text, schema.references.map(_.text)), reader, columns))
      catch { case NonFatal(error) => Left(s"the schema $id cannot be used: ${error.getMessage}") }
  }
}

object AvroDecoder {
  private val HeaderBytes = 5

  /** Parses a schema after the schemas that it refers to. */
  def parse(text: String, references: Seq[String] = Nil): Schema = {
    val parser = new Schema.Parser().setValidateDefaults(false)
    references.foreach(parser.parse(_))
    parser.parse(text)
  }
}

/**
 * Reads records of one writer schema, directly if the reader schema is equal or absent, else through Avro's
 * schema resolution.
 */
final class AvroReading(writer: Schema, reader: Option[Schema], columns: StructType) {
  private val in = new AvroBytes
  private val resolving = reader.filter(_ != writer).map { expected =>
    AvroLogicalTypes.requireSame(writer, expected)
    DecoderFactory.get.resolvingDecoder(writer, expected, in)
  }.orNull
  private val root = AvroValues.root(reader.getOrElse(writer), columns)

  def read(bytes: Array[Byte], from: Int): InternalRow =
    try {
      in.reset(bytes, from)
      val row = if (resolving == null) root.read(in) else resolve()
      if (in.remaining > 0) throw new AvroError(
        s"expected the end of the record, got ${in.remaining} more bytes at byte ${in.position}")
      row.asInstanceOf[InternalRow]
    } catch {
      case error: AvroError if error.path.isEmpty => throw DecodeError.record(error.what)
      case error: AvroError => throw DecodeError.field(error.path.mkString("."), error.what)
      case NonFatal(error: Exception) => throw DecodeError.record(AvroRecord.describe(error))
    }

  private def resolve(): Any = {
    resolving.configure(in)
    val row = root.read(resolving)
    resolving.drain()
    row
  }
}
