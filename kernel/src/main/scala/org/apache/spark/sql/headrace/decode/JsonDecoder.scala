package org.apache.spark.sql.headrace.decode

import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.json.JsonReadFeature
import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonParser, JsonToken}
import com.fasterxml.jackson.core.{JsonProcessingException, StreamReadFeature}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * One JSON object a record, read by Jackson's tokens straight into the row: no tree, no intermediate text, and what
 * the schema doesn't ask for is skipped. It accepts what Spark's `from_json` accepts by default (single quotes, NaN
 * and infinities), with the same meaning; where `from_json` makes a null of what it can't read, this rejects.
 *
 * Plain records, nearly all, don't even reach Jackson: [[JsonFastPath]] reads them from their bytes.
 */
final class JsonDecoder(schema: StructType, options: DecodeOptions) extends RecordDecoder {
  private val factory: JsonFactory = new JsonFactoryBuilder()
    .configure(JsonReadFeature.ALLOW_SINGLE_QUOTES, true)
    .configure(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS, true)
    // a record is UTF-8; guessing UTF-16 from zero bytes would make sense of garbage
    .disable(JsonFactory.Feature.CHARSET_DETECTION)
    .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
    .enable(StreamReadFeature.USE_FAST_BIG_NUMBER_PARSER)
    // lets a string column take the bytes of any value as they are written
    .enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
    .build()
  private val reader = new JsonObject(schema, new JsonValues(options))
  private val quick = JsonFastPath(schema, options).orNull

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    val row = if (quick == null) null else quick.read(bytes)
    if (row != null) row else read(if (startsWithMark(bytes)) bytes.drop(3) else bytes)
  }

  private def read(bytes: Array[Byte]): InternalRow = {
    val parser = factory.createParser(bytes, 0, bytes.length)
    try {
      root(parser)
    } catch {
      case e: JsonProcessingException => throw malformed(e, parser, bytes)
    } finally {
      parser.close()
    }
  }

  private def root(parser: JsonParser): InternalRow = {
    val token = parser.nextToken()
    if (token != JsonToken.START_OBJECT) throw notAnObject(token, parser)
    val row = reader.readObject(parser)
    if (parser.nextToken() != null) {
      val got = s"${JsonValues.shown(parser)} at byte ${JsonValues.byteOf(parser)}"
      throw DecodeError.record(s"expected the end of the record after the object, got $got")
    }
    row
  }

  private def notAnObject(token: JsonToken, parser: JsonParser): DecodeError =
    if (token == null) DecodeError.record("expected an object, got an empty record")
    else DecodeError.record(s"expected an object, got ${JsonValues.shown(parser)} at byte ${JsonValues.byteOf(parser)}")

  private def malformed(e: JsonProcessingException, parser: JsonParser, bytes: Array[Byte]): DecodeError = e match {
    case _: JsonEOFException => DecodeError.record(s"not JSON: the record ends too early, at byte ${bytes.length}")
    case _ if isText(bytes) =>
      val at = if (e.getLocation == null) JsonValues.byteOf(parser) else e.getLocation.getByteOffset
      DecodeError.record(s"not JSON: ${firstLine(e)} at byte $at")
    case _ => TextDecoder.notUtf8(bytes)
  }

  private def firstLine(e: JsonProcessingException): String = {
    val line = e.getOriginalMessage.linesIterator.next().replaceFirst(": was expecting.*", "")
    line.substring(0, 1).toLowerCase(java.util.Locale.ROOT) + line.substring(1).stripSuffix(".")
  }

  private def isText(bytes: Array[Byte]): Boolean =
    UTF8String.fromBytes(bytes).isValid

  private def startsWithMark(bytes: Array[Byte]): Boolean =
    bytes.length >= 3 && bytes(0) == 0xEF.toByte && bytes(1) == 0xBB.toByte && bytes(2) == 0xBF.toByte
}
