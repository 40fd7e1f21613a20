package org.apache.spark.sql.headrace.decode

import java.lang.{Double => JDouble, Float => JFloat, Long => JLong}
import java.math.BigInteger

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** Protobuf's scalar types as the values of Spark's columns. */
object ProtobufScalars {
  private val Unsigned32 = 0xffffffffL

  /** Digits of the largest uint64. */
  private val Digits = 20

  /** Returns the function that reads a value; it returns null for text that is not UTF-8. */
  def reader(kind: String): WireReader => Any = kind match {
    case "double" => in => JDouble.longBitsToDouble(in.readFixed64())
    case "float" => in => JFloat.intBitsToFloat(in.readFixed32())
    case "int32" => _.readVarint().toInt
    case "int64" => _.readVarint()
    case "uint32" => _.readVarint() & Unsigned32
    case "uint64" => in => toUnsigned(in.readVarint())
    case "sint32" => in => zigZag(in.readVarint() & Unsigned32).toInt
    case "sint64" => in => zigZag(in.readVarint())
    case "fixed32" => _.readFixed32() & Unsigned32
    case "fixed64" => in => toUnsigned(in.readFixed64())
    case "sfixed32" => _.readFixed32()
    case "sfixed64" => _.readFixed64()
    case "bool" => _.readVarint() != 0
    case "bytes" => _.readBytes()
    case _ => _.readText()
  }

  /** Returns the value of a field without presence that is absent; null for messages. */
  def default(kind: String, enumeration: Option[EnumLayout]): Any = kind match {
    case "double" => 0d
    case "float" => 0f
    case "int32" | "sint32" | "sfixed32" => 0
    case "int64" | "sint64" | "sfixed64" | "uint32" | "fixed32" => 0L
    case "uint64" | "fixed64" => toUnsigned(0)
    case "bool" => false
    case "string" => UTF8String.EMPTY_UTF8
    case "bytes" => Array.emptyByteArray
    case "enum" => enumeration.flatMap(_.names.headOption).map(first => UTF8String.fromString(first._1))
        .orNull
    case _ => null
  }

  def zigZag(value: Long): Long = (value >>> 1) ^ -(value & 1)

  private def toUnsigned(value: Long): Decimal =
    if (value >= 0) Decimal(value, Digits, 0)
    else Decimal(BigDecimal(new BigInteger(JLong.toUnsignedString(value))), Digits, 0)
}
