package org.apache.spark.sql.headrace.encode

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.avro.Schema
import org.apache.avro.io.EncoderFactory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** Encodes rows in an Avro schema, after a zero byte and the schema's id if it has one. */
final class AvroEncoder(schema: Schema, columns: StructType, id: Option[Int]) extends RecordEncoder {
  private val writer = new AvroRecordWriter(schema, columns)
  private val header = id.map(ByteBuffer.allocate(5).put(0.toByte).putInt(_).array)
  private val bytes = new ByteArrayOutputStream
  private val out = EncoderFactory.get.directBinaryEncoder(bytes, null)

  override def encode(row: InternalRow): Array[Byte] = {
    bytes.reset()
    header.foreach(bytes.writeBytes(_))
    try writer.writeFields(row, out)
    catch { case error: AvroWriteError => throw new EncodeFailure(error.path.mkString("."), error.what) }
    bytes.toByteArray
  }
}

object AvroEncoder {
  /** @param options JSON with `schema`, the text of an Avro schema, and `id` */
  def apply(columns: StructType, options: String): AvroEncoder = {
    val chosen = new ObjectMapper().readTree(options)
    val schema = new Schema.Parser().setValidateDefaults(false).parse(chosen.path("schema").asText)
    new AvroEncoder(schema, columns, Option(chosen.path("id")).filter(_.isInt).map(_.asInt))
  }
}
