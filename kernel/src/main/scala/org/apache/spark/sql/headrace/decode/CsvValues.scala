package org.apache.spark.sql.headrace.decode

import java.util.Base64

import scala.util.Try

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Readers of unquoted text by type; null if the text is not a value of the type. */
object CsvValues {
  def reader(kind: DataType, texts: TextValues): String => Any = kind match {
    case _: StringType => UTF8String.fromString
    case other =>
      val read = trimReader(other, texts)
      text => read(text.trim)
  }

  def describe(kind: DataType): String = if (kind == BinaryType) "binary in base64" else kind.simpleString

  private def trimReader(kind: DataType, texts: TextValues): String => Any = kind match {
    case BooleanType => _.toBooleanOption.map(Boolean.box).orNull
    case ByteType => _.toByteOption.map(Byte.box).orNull
    case ShortType => _.toShortOption.map(Short.box).orNull
    case IntegerType => _.toIntOption.map(Int.box).orNull
    case LongType => _.toLongOption.map(Long.box).orNull
    case FloatType => number(_).filter(fits(_, Float.MaxValue)).map(n => Float.box(n.toFloat)).orNull
    case DoubleType => number(_).map(Double.box).orNull
    case decimal: DecimalType => texts.decimal(_, decimal)
    case DateType => texts.date
    case TimestampType => text => inRange(texts.timestamp(text))
    case TimestampNTZType => text => inRange(texts.localTimestamp(text))
    case interval: DayTimeIntervalType => texts.dayTime(_, interval)
    case interval: YearMonthIntervalType => texts.yearMonth(_, interval)
    case BinaryType => text => Try(Base64.getDecoder.decode(text)).toOption.orNull
    case other => throw new IllegalArgumentException(s"csv can't hold ${other.sql}")
  }

  private def inRange(micros: java.lang.Long): java.lang.Long =
    if (micros != null && IsoTimestamp.inRange(micros)) micros else null
  private def fits(n: Double, most: Double): Boolean = n.isNaN || n.isInfinite || Math.abs(n) <= most

  /** Parses a number as JSON and SQL write it, not Java's forms (`1d`, `0x1p3`); None on overflow. */
  private def number(text: String): Option[Double] = text match {
    case "NaN" => Some(Double.NaN)
    case "Infinity" | "+Infinity" | "Inf" | "+INF" | "INF" => Some(Double.PositiveInfinity)
    case "-Infinity" | "-Inf" | "-INF" => Some(Double.NegativeInfinity)
    case _ if text.forall(c => c.isDigit || "+-.eE".indexOf(c) >= 0) =>
      text.toDoubleOption.filter(!_.isInfinite)
    case _ => None
  }
}
