package org.apache.spark.sql.headrace.encode

import java.lang.{Double => JDouble, Float => JFloat}
import java.math.BigInteger

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.headrace.decode.{FieldLayout, MessageLayout, WireReader}
import org.apache.spark.sql.types.{DataType, Decimal, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Writes single values of a column as values of a Protobuf type. */
final class ValueEncoder(layout: FieldLayout, dataType: DataType, path: String) {
  private val kind = layout.kind
  private val wire = WireReader.wireType(kind)
  private val get = InternalRow.getAccessor(dataType, nullable = false)
  private val writeAny: (Any, WireWriter) => Unit = layout.message match {
    case Some(message) => messageWriter(message)
    case None => scalarWriter
  }

  /** Writes a field: its tag, then the value. */
  def writeField(row: SpecializedGetters, ordinal: Int, out: WireWriter): Unit = {
    out.writeTag(layout.number, wire)
    writeValue(row, ordinal, out)
  }

  def writeValue(row: SpecializedGetters, ordinal: Int, out: WireWriter): Unit =
    writeAny(get(row, ordinal), out)

  /** Returns true for the value that a field without presence has if it is absent. */
  def isDefault(row: SpecializedGetters, ordinal: Int): Boolean = get(row, ordinal) match {
    case number: Double => JDouble.doubleToRawLongBits(number) == 0
    case number: Float => JFloat.floatToRawIntBits(number) == 0
    case number: java.lang.Number => number.longValue == 0
    case number: Decimal => number.toJavaBigDecimal.signum == 0
    case flag: Boolean => !flag
    case text: UTF8String if kind == "enum" => numberOf(text) == 0
    case text: UTF8String => text.numBytes == 0
    case bytes: Array[Byte] => bytes.isEmpty
    case _ => false
  }

  private def messageWriter(message: MessageLayout): (Any, WireWriter) => Unit = message.form match {
    case "timestamp" => (value, out) =>
        val micros = value.asInstanceOf[Long]
        writeTime(Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) * 1000, out)
    case "duration" => (value, out) =>
        val micros = value.asInstanceOf[Long]
        writeTime(micros / 1000000, micros % 1000000 * 1000, out)
    case "wrapper" =>
      val inner = new ValueEncoder(message.fields.head, dataType, path)
      (value, out) =>
        out.writeNested { nested =>
          val row = InternalRow(value)
          if (!inner.isDefault(row, 0)) inner.writeField(row, 0, nested)
        }
    case _ =>
      val inner = new MessageEncoder(message, dataType.asInstanceOf[StructType], s"$path.")
      (value, out) => out.writeNested(inner.write(value.asInstanceOf[InternalRow], _))
  }

  private def writeTime(seconds: Long, nanos: Long, out: WireWriter): Unit = out.writeNested { nested =>
    if (seconds != 0) {
      nested.writeTag(1, WireReader.Varint)
      nested.writeVarint(seconds)
    }
    if (nanos != 0) {
      nested.writeTag(2, WireReader.Varint)
      nested.writeVarint(nanos)
    }
  }

  private def scalarWriter: (Any, WireWriter) => Unit = kind match {
    case "double" => (value, out) =>
        out.writeFixed64(JDouble.doubleToRawLongBits(value.asInstanceOf[java.lang.Number].doubleValue))
    case "float" => (value, out) => out.writeFixed32(JFloat.floatToRawIntBits(value.asInstanceOf[Float]))
    case "bool" => (value, out) => out.writeVarint(if (value.asInstanceOf[Boolean]) 1 else 0)
    case "string" => (value, out) => out.writeBytes(value.asInstanceOf[UTF8String].getBytes)
    case "bytes" => (value, out) => out.writeBytes(value.asInstanceOf[Array[Byte]])
    case "enum" => (value, out) => out.writeVarint(numberOf(value.asInstanceOf[UTF8String]))
    case "sint32" | "sint64" => (value, out) =>
        val number = integerOf(value)
        out.writeVarint((number << 1) ^ (number >> 63))
    case "fixed32" | "sfixed32" => (value, out) => out.writeFixed32(integerOf(value).toInt)
    case "fixed64" | "sfixed64" => (value, out) => out.writeFixed64(integerOf(value))
    case _ => (value, out) => out.writeVarint(integerOf(value))
  }

  /** Returns the bits of a number that is in the range of the type. */
  private def integerOf(value: Any): Long = {
    val number = value match {
      case decimal: Decimal => decimal.toJavaBigDecimal.toBigIntegerExact
      case other: java.lang.Number => BigInteger.valueOf(other.longValue)
    }
    val (least, most) = ValueEncoder.range(kind)
    if (number.compareTo(least) < 0 || number.compareTo(most) > 0)
      throw new EncodeFailure(path, s"$number is out of the range of $kind")
    number.longValue
  }

  private def numberOf(text: UTF8String): Int = {
    val values = layout.enumeration.get
    val name = text.toString
    val number = values.byName.get(name).orElse(if (values.closed) None else name.toIntOption)
    number.getOrElse(throw new EncodeFailure(path, s"the enum has no value `$name`"))
  }
}

object ValueEncoder {
  private def power(bits: Int): BigInteger = BigInteger.ONE.shiftLeft(bits)

  private def range(kind: String): (BigInteger, BigInteger) = kind match {
    case "uint32" | "fixed32" => (BigInteger.ZERO, power(32).subtract(BigInteger.ONE))
    case "uint64" | "fixed64" => (BigInteger.ZERO, power(64).subtract(BigInteger.ONE))
    case "int32" | "sint32" | "sfixed32" => (power(31).negate, power(31).subtract(BigInteger.ONE))
    case _ => (power(63).negate, power(63).subtract(BigInteger.ONE))
  }
}
