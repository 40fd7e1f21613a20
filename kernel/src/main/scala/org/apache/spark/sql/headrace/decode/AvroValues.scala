package org.apache.spark.sql.headrace.decode

import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.nio.ByteBuffer
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema.Type._
import org.apache.avro.io.Decoder
import org.apache.avro.{LogicalTypes, Schema}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Reads the next value of a decoder as the value of a column. */
trait AvroReader {
  def read(in: Decoder): Any
}

/** Builds the readers of an Avro type for a column type, once per schema. */
object AvroValues {
  /** The reader of a whole record: the fields of a record as columns, or another value as the only column. */
  def root(schema: Schema, columns: StructType): AvroReader = schema.getType match {
    case RECORD => new AvroRecord(schema, columns)
    case UNION if schema.getTypes.asScala.exists(_.getType == RECORD) =>
      new AvroUnion(schema.getTypes.asScala.map {
        case branch if branch.getType == RECORD => new AvroRecord(branch, columns)
        case branch => mismatch(branch, "a record")
      }.toArray)
    case _ if columns.length == 1 => new AvroSingle(schema, columns)
    case _ => mismatch(schema, "a record")
  }

  def reader(schema: Schema, kind: DataType): AvroReader = (schema.getType, kind) match {
    case (UNION, _) => new AvroUnion(schema.getTypes.asScala.map(reader(_, kind)).toArray)
    case (NULL, _) => in => { in.readNull(); null }
    case (RECORD, fields: StructType) => new AvroRecord(schema, fields)
    case (ARRAY, ArrayType(element, _)) => new AvroArray(reader(schema.getElementType, element))
    case (MAP, MapType(_: StringType, value, _)) => new AvroMap(reader(schema.getValueType, value))
    case _ => logical(schema, kind).orElse(primitive(schema, kind))
        .getOrElse(mismatch(schema, kind.simpleString))
  }

  private def logical(schema: Schema, kind: DataType): Option[AvroReader] =
    (name(schema), kind, schema.getLogicalType) match {
      case ("date", DateType, _) => Some(in => date(in.readInt()))
      case ("timestamp-millis", TimestampType, _) => Some(in => micros(in.readLong(), 1000L, 1L))
      case ("timestamp-micros", TimestampType, _) => Some(in => micros(in.readLong(), 1L, 1L))
      case ("timestamp-nanos", TimestampType, _) => Some(in => micros(in.readLong(), 1L, 1000L))
      case ("local-timestamp-millis", TimestampNTZType, _) => Some(in => micros(in.readLong(), 1000L, 1L))
      case ("local-timestamp-micros", TimestampNTZType, _) => Some(in => micros(in.readLong(), 1L, 1L))
      case ("local-timestamp-nanos", TimestampNTZType, _) => Some(in => micros(in.readLong(), 1L, 1000L))
      case ("decimal", kind: DecimalType, scaled: LogicalTypes.Decimal) =>
        val unscaled = content(schema)
        Some(in => decimal(unscaled(in), scaled.getScale, kind))
      case ("uuid", _: StringType, _) if schema.getType == FIXED => Some(in => uuid(content(schema)(in)))
      case _ => None
    }

  private def primitive(schema: Schema, kind: DataType): Option[AvroReader] = (schema.getType, kind) match {
    case (BOOLEAN, BooleanType) => Some(in => in.readBoolean())
    case (INT, IntegerType) => Some(in => in.readInt())
    case (INT, LongType) => Some(in => in.readInt().toLong)
    case (INT, FloatType) => Some(in => in.readInt().toFloat)
    case (INT, DoubleType) => Some(in => in.readInt().toDouble)
    case (INT, ByteType) => Some(in => within(in.readInt(), Byte.MinValue, Byte.MaxValue, kind).toByte)
    case (INT, ShortType) => Some(in => within(in.readInt(), Short.MinValue, Short.MaxValue, kind).toShort)
    case (LONG, LongType) => Some(in => in.readLong())
    case (LONG, IntegerType) => Some(in => within(in.readLong(), Int.MinValue, Int.MaxValue, kind).toInt)
    case (LONG, FloatType) => Some(in => in.readLong().toFloat)
    case (LONG, DoubleType) => Some(in => in.readLong().toDouble)
    case (FLOAT, FloatType) => Some(in => in.readFloat())
    case (FLOAT, DoubleType) => Some(in => in.readFloat().toDouble)
    case (DOUBLE, DoubleType) => Some(in => in.readDouble())
    case (STRING | BYTES, _: StringType) => Some(in => text(in.readString(null)))
    case (STRING | BYTES | FIXED, BinaryType) => Some(content(schema)(_))
    case (ENUM, _: StringType) => Some(new AvroEnum(schema))
    case _ => None
  }

  /** Reads the bytes of a value of type bytes, string or fixed. */
  private def content(schema: Schema): Decoder => Array[Byte] = schema.getType match {
    case FIXED =>
      val size = schema.getFixedSize
      in => { val bytes = new Array[Byte](size); in.readFixed(bytes, 0, size); bytes }
    case _ => in => toArray(in.readBytes(null))
  }

  private def toArray(buffer: ByteBuffer): Array[Byte] =
    if (buffer.hasArray && buffer.arrayOffset == 0 && buffer.remaining == buffer.array.length) buffer.array
    else { val bytes = new Array[Byte](buffer.remaining); buffer.get(bytes); bytes }

  def text(value: org.apache.avro.util.Utf8): UTF8String = {
    val text = UTF8String.fromBytes(value.getBytes, 0, value.getByteLength)
    if (!text.isValid) throw new AvroError("expected UTF-8 text, got other bytes")
    text
  }

  private def micros(value: Long, factor: Long, divisor: Long): Long = {
    val scaled = Math.floorDiv(value, divisor)
    if (scaled < IsoTimestamp.MinMicros / factor || scaled > IsoTimestamp.MaxMicros / factor)
      throw new AvroError(s"expected a timestamp in the years 1 to 9999, got $value")
    scaled * factor
  }

  private def date(days: Int): Int = {
    if (days < MinDay || days > MaxDay)
      throw new AvroError(s"expected a date in the years 1 to 9999, got day $days")
    days
  }

  private def decimal(unscaled: Array[Byte], scale: Int, kind: DecimalType): Decimal = {
    if (unscaled.isEmpty) throw new AvroError(s"expected ${kind.sql.toLowerCase}, got no bytes")
    val value = new JBigDecimal(new BigInteger(unscaled), scale)
    val fitting = TextValues.fit(value, kind)
    if (fitting == null)
      throw new AvroError(s"expected ${kind.simpleString}, got ${DecodeError.quote(value.toString)}")
    fitting
  }

  private def uuid(bytes: Array[Byte]): UTF8String = {
    val buffer = ByteBuffer.wrap(bytes)
    UTF8String.fromString(new UUID(buffer.getLong, buffer.getLong).toString)
  }

  private def within(value: Long, low: Long, high: Long, kind: DataType): Long = {
    if (value < low || value > high) throw new AvroError(s"expected ${kind.simpleString}, got $value")
    value
  }

  private def mismatch(schema: Schema, expected: String): AvroReader = {
    val what = s"expected $expected, got the Avro type ${describe(schema)}"
    _ => throw new AvroError(what)
  }

  private def describe(schema: Schema): String =
    if (name(schema).nonEmpty) name(schema) else schema.getType.getName

  private def name(schema: Schema): String = Option(schema.getLogicalType).fold("")(_.getName)

  private val MinDay = -719162
  private val MaxDay = 2932896
}
