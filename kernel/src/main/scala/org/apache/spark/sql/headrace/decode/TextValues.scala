package org.apache.spark.sql.headrace.decode

import java.math.{BigDecimal => JBigDecimal, RoundingMode}
import java.time.ZoneOffset
import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.util.LegacyDateFormats.FAST_DATE_FORMAT
import org.apache.spark.sql.catalyst.util.{DateFormatter, DateTimeUtils, IntervalUtils, TimestampFormatter}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Parses dates, timestamps, decimals and intervals as Spark's `from_json` does; without a zone, UTC. */
final class TextValues(options: DecodeOptions) {
  private val zone = ZoneOffset.UTC
  private lazy val timestamps = options.timestampFormat.map { pattern =>
    TimestampFormatter(Some(pattern), zone, Locale.US, FAST_DATE_FORMAT, isParsing = true)
  }
  private lazy val localTimestamps = options.timestampFormat.map { pattern =>
    TimestampFormatter(Some(pattern), zone, FAST_DATE_FORMAT, isParsing = true, forTimestampNTZ = true)
  }
  private lazy val dates = options.dateFormat.map { pattern =>
    DateFormatter(Some(pattern), Locale.US, FAST_DATE_FORMAT, isParsing = true)
  }

  /** Microseconds since 1970, or null. */
  def timestamp(text: String): java.lang.Long = timestamps match {
    case Some(formatter) => attempt(formatter.parse(text))
    case None =>
      val micros = IsoTimestamp.parse(text)
      if (micros != IsoTimestamp.NotIso) micros else slowTimestamp(UTF8String.fromString(text))
  }

  /** Microseconds of a local timestamp, or null. */
  def localTimestamp(text: String): java.lang.Long = localTimestamps match {
    case Some(formatter) => attempt(formatter.parseWithoutTimeZone(text, false))
    case None => DateTimeUtils.stringToTimestampWithoutTimeZone(UTF8String.fromString(text), false)
        .map(Long.box).orNull
  }

  /** Days since 1970, or null. */
  def date(text: String): java.lang.Integer = dates match {
    case Some(formatter) => attempt(Int.box(formatter.parse(text)))
    case None =>
      val utf8 = UTF8String.fromString(text)
      DateTimeUtils.stringToDate(utf8)
        .orElse(DateTimeUtils.stringToDate(DateTimeUtils.cleanLegacyTimestampStr(utf8))).map(Int.box).orNull
  }

  def decimal(text: String, kind: DecimalType): Decimal =
    attempt(TextValues.fit(new JBigDecimal(text.replace(",", "")), kind))
  def dayTime(text: String, kind: DayTimeIntervalType): java.lang.Long =
    attempt(IntervalUtils.castStringToDTInterval(UTF8String.fromString(text), kind.startField, kind.endField))
  def yearMonth(text: String, kind: YearMonthIntervalType): java.lang.Integer =
    attempt(IntervalUtils.castStringToYMInterval(UTF8String.fromString(text), kind.startField, kind.endField))

  private def slowTimestamp(text: UTF8String): java.lang.Long = DateTimeUtils.stringToTimestamp(text, zone)
    .orElse(DateTimeUtils.stringToTimestamp(DateTimeUtils.cleanLegacyTimestampStr(text), zone)).map(Long.box)
    .orNull

  private def attempt[A >: Null](value: => A): A =
    try value
    catch { case NonFatal(_) => null }
}

object TextValues {
  /** Rounds half up to the scale; null on overflow. Checks the exponent before it allocates digits. */
  def fit(value: JBigDecimal, kind: DecimalType): Decimal = {
    val wholeDigits = value.precision.toLong - value.scale
    if (value.signum == 0 || wholeDigits < -kind.scale) Decimal(JBigDecimal.ZERO, kind.precision, kind.scale)
    else if (wholeDigits > kind.precision - kind.scale) null
    else {
      val rounded = value.setScale(kind.scale, RoundingMode.HALF_UP)
      if (rounded.precision > kind.precision) null else Decimal(rounded, kind.precision, kind.scale)
    }
  }
}
