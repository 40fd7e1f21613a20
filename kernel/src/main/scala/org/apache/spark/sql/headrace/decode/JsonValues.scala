package org.apache.spark.sql.headrace.decode

import com.fasterxml.jackson.core.JsonToken._
import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonStreamContext}

import org.apache.spark.sql.types._
import org.apache.spark.types.variant.VariantBuilder
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/** Reads the value at the parser's current token. */
trait JsonReader {
  def read(parser: JsonParser): Any

  /** Like `read`; maps JSON null to SQL null, except in a variant. */
  def readOrNull(parser: JsonParser): Any = if (parser.currentToken == VALUE_NULL) null else read(parser)
}

/** Builds the readers of types, once per task. */
final class JsonValues(options: DecodeOptions) {
  import JsonValues._

  val rejectUnknown: Boolean = options.rejectUnknown
  private val texts = new TextValues(options)
  private val perUnit = options.microsPerUnit

  def reader(kind: DataType): JsonReader = kind match {
    case _: StringType => StringReader
    case DoubleType => parser => floating(parser, "double", parser.getDoubleValue)
    case LongType => parser => whole(parser, "bigint", Long.MinValue, Long.MaxValue)
    case IntegerType => parser => whole(parser, "int", Int.MinValue, Int.MaxValue).toInt
    case ShortType => parser => whole(parser, "smallint", Short.MinValue, Short.MaxValue).toShort
    case ByteType => parser => whole(parser, "tinyint", Byte.MinValue, Byte.MaxValue).toByte
    case FloatType => parser => floating(parser, "float", parser.getFloatValue.toDouble).toFloat
    case BooleanType => BooleanReader
    case BinaryType => BinaryReader
    case TimestampType => timestamp
    case TimestampNTZType => parser => timestampText(parser, "timestamp_ntz", texts.localTimestamp)
    case DateType => parser => text(parser, "date", texts.date)
    case decimal: DecimalType => decimalReader(decimal)
    case i: DayTimeIntervalType => parser => text(parser, i.typeName, texts.dayTime(_, i))
    case i: YearMonthIntervalType => parser => text(parser, i.typeName, texts.yearMonth(_, i))
    case VariantType => VariantReader
    case struct: StructType => new JsonObject(struct, this)
    case ArrayType(element, _) => new JsonArray(reader(element))
    case MapType(_: StringType, value, _) => new JsonMap(reader(value))
    case other => throw new IllegalArgumentException(s"json can't hold ${other.sql}")
  }

  private val timestamp: JsonReader = parser =>
    if (parser.currentToken == VALUE_NUMBER_INT) {
      val count = whole(parser, "timestamp", Long.MinValue, Long.MaxValue)
      if (count > IsoTimestamp.MaxMicros / perUnit || count < IsoTimestamp.MinMicros / perUnit)
        throw outOfRange(parser, "timestamp")
      count * perUnit
    } else timestampText(parser, "timestamp", texts.timestamp)

  private def decimalReader(kind: DecimalType): JsonReader = parser => {
    val value = parser.currentToken match {
      case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT if !parser.isNaN =>
        TextValues.fit(parser.getDecimalValue, kind)
      case VALUE_STRING => texts.decimal(parser.getText, kind)
      case _ => null
    }
    if (value == null) throw mismatch(parser, kind.simpleString)
    value
  }
}

object JsonValues {
  /** Reads an integer within a range. */
  private def whole(parser: JsonParser, kind: String, least: Long, most: Long): Long = {
    if (parser.currentToken != VALUE_NUMBER_INT) throw mismatch(parser, kind)
    if (parser.getNumberType == JsonParser.NumberType.BIG_INTEGER) throw outOfRange(parser, kind)
    val value = parser.getLongValue
    if (value < least || value > most) throw outOfRange(parser, kind)
    value
  }

  private def text(parser: JsonParser, kind: String, parse: String => Any): Any = {
    val value = if (parser.currentToken == VALUE_STRING) parse(parser.getText) else null
    if (value == null) throw mismatch(parser, kind)
    value
  }

  private def timestampText(parser: JsonParser, kind: String, parse: String => java.lang.Long): Any = {
    val micros = text(parser, kind, parse)
    if (!IsoTimestamp.inRange(micros.asInstanceOf[Long])) throw outOfRange(parser, kind)
    micros
  }

  /** Reads a floating-point number, which is `value` if the token is a number. */
  private def floating(parser: JsonParser, kind: String, value: => Double): Double =
    parser.currentToken match {
      case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT =>
        val number = value
        if (number.isInfinite && !parser.isNaN) throw outOfRange(parser, kind)
        number
      case VALUE_STRING => special(parser, kind)
      case _ => throw mismatch(parser, kind)
    }

  /** Quoted NaN and infinities, which JSON numbers cannot express. */
  private def special(parser: JsonParser, kind: String): Double = parser.getText match {
    case "NaN" => Double.NaN
    case "+INF" | "+Infinity" | "Infinity" => Double.PositiveInfinity
    case "-INF" | "-Infinity" => Double.NegativeInfinity
    case _ => throw mismatch(parser, kind)
  }

  private object BooleanReader extends JsonReader {
    override def read(parser: JsonParser): Any = parser.currentToken match {
      case VALUE_TRUE => true
      case VALUE_FALSE => false
      case _ => throw mismatch(parser, "boolean")
    }
  }

  private object BinaryReader extends JsonReader {
    override def read(parser: JsonParser): Any = {
      if (parser.currentToken != VALUE_STRING) throw mismatch(parser, "binary in base64")
      parser.getText // forces the whole token to be read before an error
      try parser.getBinaryValue
      catch { case _: JsonProcessingException => throw mismatch(parser, "binary in base64") }
    }
  }

  private object VariantReader extends JsonReader {
    override def readOrNull(parser: JsonParser): Any = read(parser)

    override def read(parser: JsonParser): Any = {
      val variant = VariantBuilder.parseJson(parser, false)
      new VariantVal(variant.getValue, variant.getMetadata)
    }
  }

  /** Reads text; takes other values as written, like Spark's JSON files. */
  private object StringReader extends JsonReader {
    override def read(parser: JsonParser): Any =
      if (parser.currentToken == VALUE_STRING) utf8(parser) else asWritten(parser)

    /** ASCII, the common case, needs no String or encoder. */
    private def utf8(parser: JsonParser): UTF8String = {
      val chars = parser.getTextCharacters
      val from = parser.getTextOffset
      val length = parser.getTextLength
      val bytes = new Array[Byte](length)
      var i = 0
      while (i < length) {
        val c = chars(from + i)
        if (c >= 128) return UTF8String.fromString(new String(chars, from, length))
        bytes(i) = c.toByte
        i += 1
      }
      UTF8String.fromBytes(bytes)
    }

    private def asWritten(parser: JsonParser): UTF8String = {
      val from = byteOf(parser).toInt
      parser.skipChildren()
      parser.finishToken()
      val bytes = parser.currentTokenLocation.contentReference.getRawContent.asInstanceOf[Array[Byte]]
      UTF8String
        .fromBytes(java.util.Arrays.copyOfRange(bytes, from, parser.currentLocation.getByteOffset.toInt))
    }
  }

  def byteOf(parser: JsonParser): Long = parser.currentTokenLocation.getByteOffset
  def mismatch(parser: JsonParser, kind: String): DecodeError = DecodeError
    .mismatch(pathOf(parser), kind, describe(parser), byteOf(parser))
  private def outOfRange(parser: JsonParser, kind: String): DecodeError = DecodeError
    .mismatch(pathOf(parser), kind, s"${describe(parser)}, which is out of range,", byteOf(parser))

  def describe(parser: JsonParser): String = parser.currentToken match {
    case VALUE_STRING => s"string ${DecodeError.quote(parser.getText)}"
    case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT =>
      s"number ${DecodeError.quote(parser.getText).drop(1).dropRight(1)}"
    case VALUE_TRUE | VALUE_FALSE => s"boolean ${parser.getText}"
    case VALUE_NULL => "null"
    case START_OBJECT => "an object"
    case START_ARRAY => "an array"
    case _ => s"`${parser.getText}`"
  }

  /** Path of the current field, such as `place.tags[2]`; after a struct's end, the field that contains it. */
  def pathOf(parser: JsonParser): String = {
    val context = parser.getParsingContext
    // the opening token already belongs to the container's context
    path(if (parser.currentToken.isStructStart) context.getParent else context)
  }

  private def path(context: JsonStreamContext): String =
    if (context == null || context.inRoot) ""
    else if (context.inArray) s"${path(context.getParent)}[${context.getCurrentIndex}]"
    else {
      val parent = path(context.getParent)
      if (parent.isEmpty) context.getCurrentName else s"$parent.${context.getCurrentName}"
    }
}
