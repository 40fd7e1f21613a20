package org.apache.spark.sql.headrace.decode

import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.json.JsonReadFeature
import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonParser, JsonProcessingException, JsonToken, StreamReadFeature}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Decodes one JSON object per record to a row, skipping fields that are not in the schema: a plain one by
 * [[FlatJson]], others from Jackson's tokens. Accepts what Spark's `from_json` accepts by default (single quotes, NaN, infinities); where
 * `from_json` returns null on an error, this throws.
 */
final class JsonDecoder(schema: StructType, options: DecodeOptions) extends RecordDecoder {
  private val factory: JsonFactory = new JsonFactoryBuilder()
    .configure(JsonReadFeature.ALLOW_SINGLE_QUOTES, true)
    .configure(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS, true)
    // records are UTF-8; detection could misread binary data as UTF-16
    .disable(JsonFactory.Feature.CHARSET_DETECTION).enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
    .enable(StreamReadFeature.USE_FAST_BIG_NUMBER_PARSER)
    // string columns take other values as written
    .enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION).build()
  private val reader = new JsonObject(schema, new JsonValues(options))
  private val plain = FlatJson(schema, options).orNull

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    val row = if (plain == null) null else plain.read(bytes)
    if (row != null) row else parse(bytes)
  }

  /** Decodes a record by Jackson's tokens. */
  private[decode] def parse(bytes: Array[Byte]): InternalRow =
    read(if (hasByteOrderMark(bytes)) bytes.drop(3) else bytes)

  private def read(bytes: Array[Byte]): InternalRow = {
    val parser = factory.createParser(bytes, 0, bytes.length)
    try { root(parser) }
    catch { case e: JsonProcessingException => throw syntaxError(e, parser, bytes) }
    finally { parser.close() }
  }

  private def root(parser: JsonParser): InternalRow = {
    val token = parser.nextToken()
    if (token != JsonToken.START_OBJECT) throw notAnObject(token, parser)
    val row = reader.readObject(parser)
    if (parser.nextToken() != null) {
      val got = s"${JsonValues.describe(parser)} at byte ${JsonValues.byteOf(parser)}"
      throw DecodeError.record(s"expected the end of the record after the object, got $got")
    }
    row
  }

  private def notAnObject(token: JsonToken, parser: JsonParser): DecodeError =
    if (token == null) DecodeError.record("expected an object, got an empty record")
    else DecodeError
      .record(s"expected an object, got ${JsonValues.describe(parser)} at byte ${JsonValues.byteOf(parser)}")

  private def syntaxError(e: JsonProcessingException, parser: JsonParser, bytes: Array[Byte]): DecodeError =
    e match {
      case _: JsonEOFException => DecodeError
          .record(s"not JSON: the record ends too early, at byte ${bytes.length}")
      case _ if isUtf8(bytes) =>
        val at = if (e.getLocation == null) JsonValues.byteOf(parser) else e.getLocation.getByteOffset
        DecodeError.record(s"not JSON: ${firstLine(e)} at byte $at")
      case _ => TextDecoder.notUtf8(bytes)
    }

  private def firstLine(e: JsonProcessingException): String = {
    val line = e.getOriginalMessage.linesIterator.next().replaceFirst(": was expecting.*", "")
    line.substring(0, 1).toLowerCase(java.util.Locale.ROOT) + line.substring(1).stripSuffix(".")
  }

  private def isUtf8(bytes: Array[Byte]): Boolean = UTF8String.fromBytes(bytes).isValid
  private def hasByteOrderMark(bytes: Array[Byte]): Boolean = bytes.length >= 3 && bytes(0) == 0xef.toByte &&
    bytes(1) == 0xbb.toByte && bytes(2) == 0xbf.toByte
}
