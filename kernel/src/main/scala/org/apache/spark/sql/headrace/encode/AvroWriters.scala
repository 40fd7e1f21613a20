package org.apache.spark.sql.headrace.encode

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.control.{NonFatal, NoStackTrace}

import org.apache.avro.Schema.Type._
import org.apache.avro.generic.{GenericData, GenericDatumWriter}
import org.apache.avro.io.{Encoder, EncoderFactory}
import org.apache.avro.util.Utf8
import org.apache.avro.{LogicalTypes, Schema}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.types._

/** A value cannot be written; `path` has the names of the fields on the way to it. */
final class AvroWriteError(val what: String, val path: List[String] = Nil)
    extends RuntimeException(what) with NoStackTrace

/** Writes a value that is not null. */
trait AvroWriter {
  def write(values: SpecializedGetters, at: Int, out: Encoder): Unit
}

/** Writes a value of a union or of another type, which may be null. */
final class AvroNullableWriter(schema: Schema, nullBranch: Int, branch: Int, writer: AvroWriter) {
  def write(values: SpecializedGetters, at: Int, out: Encoder): Unit =
    if (values.isNullAt(at)) {
      if (nullBranch < 0) throw new AvroWriteError(s"expected ${schema.getType.getName}, got null")
      if (branch >= 0) out.writeIndex(nullBranch)
      out.writeNull()
    } else {
      if (branch >= 0) out.writeIndex(branch)
      writer.write(values, at, out)
    }
}

/** Writes the fields of a record from the columns of their names, others with their defaults. */
final class AvroRecordWriter(schema: Schema, columns: StructType) extends AvroWriter {
  private val fields = schema.getFields.asScala.toArray
  private val ordinals = fields.map(field => columns.fieldNames.indexOf(field.name))
  private val writers = fields.zip(ordinals).map { case (field, ordinal) =>
    if (ordinal < 0) null else AvroWriters.nullable(field.schema, columns(ordinal).dataType)
  }
  private val defaults = fields.zip(ordinals).map { case (field, ordinal) =>
    if (ordinal < 0) AvroWriters.defaultOf(field) else null
  }

  override def write(values: SpecializedGetters, at: Int, out: Encoder): Unit =
    writeFields(values.getStruct(at, columns.length), out)

  def writeFields(row: InternalRow, out: Encoder): Unit = {
    var i = 0
    while (i < fields.length) {
      if (ordinals(i) < 0) out.writeFixed(defaults(i))
      else {
        try writers(i).write(row, ordinals(i), out)
        catch {
          case error: AvroWriteError => throw new AvroWriteError(error.what, fields(i).name :: error.path)
        }
      }
      i += 1
    }
  }
}

/** Builds the writers of a column type for an Avro type; Python's `check_columns` accepts the same pairs. */
object AvroWriters {
  def nullable(schema: Schema, kind: DataType): AvroNullableWriter =
    if (schema.getType != UNION)
      new AvroNullableWriter(schema, -1, -1, writer(schema, kind).getOrElse(throw mismatch(schema, kind)))
    else {
      val branches = schema.getTypes.asScala.toSeq
      val fitting = branches.indices.iterator.map(i => (i, branches(i))).filter { case (_, branch) =>
        branch.getType != NULL
      }.flatMap { case (i, branch) => writer(branch, kind).map((i, _)) }
      val (branch, chosen) = fitting.nextOption().getOrElse(throw mismatch(schema, kind))
      new AvroNullableWriter(schema, branches.indexWhere(_.getType == NULL), branch, chosen)
    }

  /** The encoded default of a field. */
  def defaultOf(field: Schema.Field): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val value = GenericData.get.getDefaultValue(field)
    new GenericDatumWriter[Any](field.schema)
      .write(value, EncoderFactory.get.directBinaryEncoder(bytes, null))
    bytes.toByteArray
  }

  private def writer(schema: Schema, kind: DataType): Option[AvroWriter] =
    try (schema.getType, kind) match {
        case (RECORD, fields: StructType) => Some(new AvroRecordWriter(schema, fields))
        case (ARRAY, ArrayType(element, _)) => Some(array(nullable(schema.getElementType, element)))
        case (MAP, MapType(_: StringType, value, _)) => Some(map(nullable(schema.getValueType, value)))
        case _ => logical(schema, kind).orElse(primitive(schema, kind))
      }
    catch { case _: IllegalArgumentException => None }

  private def logical(schema: Schema, kind: DataType): Option[AvroWriter] =
    (Option(schema.getLogicalType).fold("")(_.getName), kind) match {
      case ("date", DateType) => Some((row, at, out) => out.writeInt(row.getInt(at)))
      case ("timestamp-millis", TimestampType) | ("local-timestamp-millis", TimestampNTZType) =>
        Some((row, at, out) => out.writeLong(Math.floorDiv(row.getLong(at), 1000L)))
      case ("timestamp-micros", TimestampType) | ("local-timestamp-micros", TimestampNTZType) =>
        Some((row, at, out) => out.writeLong(row.getLong(at)))
      case ("timestamp-nanos", TimestampType) | ("local-timestamp-nanos", TimestampNTZType) =>
        Some((row, at, out) => out.writeLong(nanos(row.getLong(at))))
      case ("decimal", kind: DecimalType) => Some(decimal(schema, kind))
      case ("uuid", _: StringType) if schema.getType == FIXED => Some(uuid)
      case _ => None
    }

  private def primitive(schema: Schema, kind: DataType): Option[AvroWriter] = (schema.getType, kind) match {
    case (BOOLEAN, BooleanType) => Some((row, at, out) => out.writeBoolean(row.getBoolean(at)))
    case (INT, ByteType | ShortType | IntegerType) =>
      val whole = wholeNumber(kind)
      Some((row, at, out) => out.writeInt(whole(row, at).toInt))
    case (LONG, ByteType | ShortType | IntegerType | LongType) =>
      val whole = wholeNumber(kind)
      Some((row, at, out) => out.writeLong(whole(row, at)))
    case (FLOAT, ByteType | ShortType) =>
      val whole = wholeNumber(kind)
      Some((row, at, out) => out.writeFloat(whole(row, at).toFloat))
    case (DOUBLE, ByteType | ShortType | IntegerType) =>
      val whole = wholeNumber(kind)
      Some((row, at, out) => out.writeDouble(whole(row, at).toDouble))
    case (FLOAT, FloatType) => Some((row, at, out) => out.writeFloat(row.getFloat(at)))
    case (DOUBLE, FloatType) => Some((row, at, out) => out.writeDouble(row.getFloat(at).toDouble))
    case (DOUBLE, DoubleType) => Some((row, at, out) => out.writeDouble(row.getDouble(at)))
    case (STRING, _: StringType) =>
      Some((row, at, out) => out.writeString(new Utf8(row.getUTF8String(at).getBytes)))
    case (ENUM, _: StringType) => Some(symbol(schema))
    case (BYTES, BinaryType) => Some((row, at, out) => out.writeBytes(row.getBinary(at)))
    case (FIXED, BinaryType) => Some((row, at, out) => out.writeFixed(toFixed(row.getBinary(at), schema)))
    case _ => None
  }

  private def wholeNumber(kind: DataType): (SpecializedGetters, Int) => Long = kind match {
    case ByteType => (row, at) => row.getByte(at).toLong
    case ShortType => (row, at) => row.getShort(at).toLong
    case IntegerType => (row, at) => row.getInt(at).toLong
    case _ => (row, at) => row.getLong(at)
  }

  private def array(element: AvroNullableWriter): AvroWriter = (row, at, out) => {
    val values = row.getArray(at)
    out.writeArrayStart()
    out.setItemCount(values.numElements())
    for (i <- 0 until values.numElements()) {
      out.startItem()
      element.write(values, i, out)
    }
    out.writeArrayEnd()
  }

  private def map(value: AvroNullableWriter): AvroWriter = (row, at, out) => {
    val (keys, values) = (row.getMap(at).keyArray(), row.getMap(at).valueArray())
    out.writeMapStart()
    out.setItemCount(keys.numElements())
    for (i <- 0 until keys.numElements()) {
      out.startItem()
      out.writeString(new Utf8(keys.getUTF8String(i).getBytes))
      value.write(values, i, out)
    }
    out.writeMapEnd()
  }

  private def symbol(schema: Schema): AvroWriter = { (row, at, out) =>
    {
      val text = row.getUTF8String(at).toString
      if (!schema.hasEnumSymbol(text))
        throw new AvroWriteError(s"expected a symbol of the enum ${schema.getFullName}, got \"$text\"")
      out.writeEnum(schema.getEnumOrdinal(text))
    }
  }

  private def toFixed(bytes: Array[Byte], schema: Schema): Array[Byte] = {
    if (bytes.length != schema.getFixedSize) throw new AvroWriteError(
      s"expected ${schema.getFixedSize} bytes for the fixed ${schema.getFullName}, got ${bytes.length}")
    bytes
  }

  private def decimal(schema: Schema, kind: DecimalType): AvroWriter = {
    val scale = schema.getLogicalType.asInstanceOf[LogicalTypes.Decimal].getScale
    def toUnscaled(row: SpecializedGetters, at: Int) = row.getDecimal(at, kind.precision, kind.scale)
      .toJavaBigDecimal.setScale(scale).unscaledValue.toByteArray
    if (schema.getType == BYTES) (row, at, out) => out.writeBytes(toUnscaled(row, at))
    else { (row, at, out) =>
      val bytes = toUnscaled(row, at)
      val padded = Array.fill[Byte](schema.getFixedSize)(if (bytes(0) < 0) -1 else 0)
      if (bytes.length > padded.length)
        throw new AvroWriteError(s"expected a decimal of ${padded.length} bytes, got one of ${bytes.length}")
      System.arraycopy(bytes, 0, padded, padded.length - bytes.length, bytes.length)
      out.writeFixed(padded)
    }
  }

  private val uuid: AvroWriter = (row, at, out) => {
    val text = row.getUTF8String(at).toString
    val value =
      try UUID.fromString(text)
      catch { case NonFatal(_) => throw new AvroWriteError(s"expected a UUID, got \"$text\"") }
    out.writeFixed(ByteBuffer.allocate(16).putLong(value.getMostSignificantBits)
        .putLong(value.getLeastSignificantBits).array)
  }

  private def nanos(micros: Long): Long =
    try Math.multiplyExact(micros, 1000L)
    catch {
      case _: ArithmeticException =>
        throw new AvroWriteError(s"a time of $micros microseconds does not fit nanoseconds")
    }

  private def mismatch(schema: Schema, kind: DataType): IllegalArgumentException =
    new IllegalArgumentException(s"${kind.simpleString} cannot be written as ${schema.getType.getName}")
}
