package org.apache.spark.sql.headrace.decode

import java.math.{BigDecimal => JBigDecimal, RoundingMode}
import java.time.ZoneOffset
import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.util.{DateFormatter, DateTimeUtils, IntervalUtils, TimestampFormatter}
import org.apache.spark.sql.catalyst.util.LegacyDateFormats.FAST_DATE_FORMAT
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Values that stand as text in a record: dates, timestamps, decimals, intervals. What can be read is what Spark's
 * `from_json` reads; what has no zone is UTC.
 */
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

  /** Microseconds of a wall clock, or null. */
  def localTimestamp(text: String): java.lang.Long = localTimestamps match {
    case Some(formatter) => attempt(formatter.parseWithoutTimeZone(text, false))
    case None =>
      DateTimeUtils.stringToTimestampWithoutTimeZone(UTF8String.fromString(text), false).map(Long.box).orNull
  }

  /** Days since 1970, or null. */
  def date(text: String): java.lang.Integer = dates match {
    case Some(formatter) => attempt(Int.box(formatter.parse(text)))
    case None =>
      val utf8 = UTF8String.fromString(text)
      DateTimeUtils.stringToDate(utf8)
        .orElse(DateTimeUtils.stringToDate(DateTimeUtils.cleanLegacyTimestampStr(utf8)))
        .map(Int.box).orNull
  }

  def decimal(text: String, kind: DecimalType): Decimal =
    attempt(TextValues.fitted(new JBigDecimal(text.replace(",", "")), kind))

  def dayTime(text: String, kind: DayTimeIntervalType): java.lang.Long =
    attempt(IntervalUtils.castStringToDTInterval(UTF8String.fromString(text), kind.startField, kind.endField))

  def yearMonth(text: String, kind: YearMonthIntervalType): java.lang.Integer =
    attempt(IntervalUtils.castStringToYMInterval(UTF8String.fromString(text), kind.startField, kind.endField))

  private def slowTimestamp(text: UTF8String): java.lang.Long =
    DateTimeUtils.stringToTimestamp(text, zone)
      .orElse(DateTimeUtils.stringToTimestamp(DateTimeUtils.cleanLegacyTimestampStr(text), zone))
      .map(Long.box).orNull

  private def attempt[A >: Null](value: => A): A =
    try value
    catch { case NonFatal(_) => null }
}

object TextValues {

  /**
   * The number rounded half up to the type's scale, or null if it has too many digits. The exponent is looked at
   * first: rounding `1e999999999` would take all memory.
   */
  def fitted(value: JBigDecimal, kind: DecimalType): Decimal = {
    val wholeDigits = value.precision.toLong - value.scale
    if (value.signum == 0 || wholeDigits < -kind.scale) Decimal(JBigDecimal.ZERO, kind.precision, kind.scale)
    else if (wholeDigits > kind.precision - kind.scale) null
    else {
      val rounded = value.setScale(kind.scale, RoundingMode.HALF_UP)
      if (rounded.precision > kind.precision) null else Decimal(rounded, kind.precision, kind.scale)
    }
  }
}

/**
 * The one spelling of a timestamp that nearly every record has, read without allocation:
 * `yyyy-MM-dd[T ]HH:mm:ss[.f]`, then nothing, `Z` or an offset `+hh:mm`. Anything else is left to Spark.
 */
object IsoTimestamp {
  val NotIso: Long = Long.MinValue
  private val Seconds = 19
  private val PerSecond = 1000000L

  def parse(text: String): Long = {
    if (text.length < Seconds || !shaped(text)) return NotIso
    val year = number(text, 0, 4)
    val month = number(text, 5, 2)
    val day = number(text, 8, 2)
    val hour = number(text, 11, 2)
    val minute = number(text, 14, 2)
    val second = number(text, 17, 2)
    if ((year | month | day | hour | minute | second) < 0 || hour > 23 || minute > 59 || second > 59) return NotIso
    if (month < 1 || month > 12 || day < 1 || day > lengthOf(month, year)) return NotIso
    withRest(text, epochDay(year, month, day) * 86400L + hour * 3600L + minute * 60L + second)
  }

  private def shaped(text: String): Boolean =
    text.charAt(4) == '-' && text.charAt(7) == '-' && (text.charAt(10) == 'T' || text.charAt(10) == ' ') &&
      text.charAt(13) == ':' && text.charAt(16) == ':'

  /** Adds the fraction and takes off the offset; fractions finer than a microsecond are cut, as Spark does. */
  private def withRest(text: String, seconds: Long): Long = {
    var at = Seconds
    var micros = 0L
    if (at < text.length && text.charAt(at) == '.') {
      at += 1
      val first = at
      var scale = 100000L
      while (at < text.length && isDigit(text.charAt(at))) {
        micros += (text.charAt(at) - '0') * scale
        scale /= 10
        at += 1
      }
      if (at == first || at - first > 9) return NotIso
    }
    val offset = offsetSeconds(text, at)
    if (offset == Int.MinValue) NotIso else (seconds - offset) * PerSecond + micros
  }

  private def offsetSeconds(text: String, at: Int): Int = {
    val left = text.length - at
    if (left == 0 || (left == 1 && text.charAt(at) == 'Z')) return 0
    if (left != 6 || text.charAt(at + 3) != ':') return Int.MinValue
    val hours = number(text, at + 1, 2)
    val minutes = number(text, at + 4, 2)
    if ((hours | minutes) < 0 || hours > 17 || minutes > 59) return Int.MinValue
    val size = hours * 3600 + minutes * 60
    text.charAt(at) match {
      case '+' => size
      case '-' => -size
      case _ => Int.MinValue
    }
  }

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  /** The digits as a number, negative if one isn't a digit. */
  private def number(text: String, from: Int, count: Int): Int = {
    var value = 0
    var i = from
    while (i < from + count) {
      val c = text.charAt(i)
      if (!isDigit(c)) return -1
      value = value * 10 + (c - '0')
      i += 1
    }
    value
  }

  private def lengthOf(month: Int, year: Int): Int = month match {
    case 2 => if (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) 29 else 28
    case 4 | 6 | 9 | 11 => 30
    case _ => 31
  }

  /** Days from 1970-01-01 in the proleptic Gregorian calendar, counting years from March. */
  private def epochDay(year: Int, month: Int, day: Int): Long = {
    val y = if (month > 2) year else year - 1
    val era = Math.floorDiv(y, 400)
    val ofEra = y - era * 400
    val ofYear = (153 * (if (month > 2) month - 3 else month + 9) + 2) / 5 + day - 1
    era * 146097L + ofEra * 365L + ofEra / 4 - ofEra / 100 + ofYear - 719468L
  }
}
