package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.US_ASCII

/**
 * Parses the common timestamp format without allocation: `yyyy-MM-dd[T ]HH:mm:ss[.f]`, then nothing, `Z` or
 * `+hh:mm`. Other formats are left to Spark.
 */
object IsoTimestamp {
  val NotIso: Long = Long.MinValue

  /** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z, in microseconds; timestamps outside are decode errors. */
  val MinMicros: Long = -62135596800000000L
  val MaxMicros: Long = 253402300799999999L
  def inRange(micros: Long): Boolean = micros >= MinMicros && micros <= MaxMicros
  private val Seconds = 19
  private val PerSecond = 1000000L

  def parse(text: String): Long = {
    val bytes = text.getBytes(US_ASCII)
    parse(bytes, 0, bytes.length)
  }

  def parse(text: Array[Byte], from: Int, length: Int): Long = {
    if (length < Seconds || !hasIsoShape(text, from)) return NotIso
    val days = parseDate(text, from, 10)
    val hour = number(text, from + 11, 2)
    val minute = number(text, from + 14, 2)
    val second = number(text, from + 17, 2)
    if (days == NotIso ||
      (hour | minute | second) < 0 || hour > 23 || minute > 59 || second > 59) return NotIso
    withRest(text, from + Seconds, from + length, days * 86400L + hour * 3600L + minute * 60L + second)
  }

  /** Days since 1970 of `yyyy-MM-dd`. */
  def parseDate(text: Array[Byte], from: Int, length: Int): Long = {
    if (length != 10 || text(from + 4) != '-' || text(from + 7) != '-') return NotIso
    val year = number(text, from, 4)
    val month = number(text, from + 5, 2)
    val day = number(text, from + 8, 2)
    if ((year | month | day) < 0 || month < 1 || month > 12 || day < 1 || day > lengthOf(month, year)) NotIso
    else epochDay(year, month, day)
  }

  private def hasIsoShape(text: Array[Byte], from: Int): Boolean =
    (text(from + 10) == 'T' || text(from + 10) == ' ') && text(from + 13) == ':' && text(from + 16) == ':'

  /** Applies fraction and offset; digits below a microsecond are truncated, as in Spark. */
  private def withRest(text: Array[Byte], from: Int, end: Int, seconds: Long): Long = {
    var at = from
    var micros = 0L
    if (at < end && text(at) == '.') {
      at += 1
      val first = at
      var scale = 100000L
      while (at < end && isDigit(text(at))) {
        micros += (text(at) - '0') * scale
        scale /= 10
        at += 1
      }
      if (at == first || at - first > 9) return NotIso
    }
    val offset = offsetSeconds(text, at, end - at)
    if (offset == Int.MinValue) return NotIso
    val result = (seconds - offset) * PerSecond + micros
    if (inRange(result)) result else NotIso
  }

  private def offsetSeconds(text: Array[Byte], at: Int, left: Int): Int = {
    if (left == 0 || (left == 1 && text(at) == 'Z')) return 0
    if (left != 6 || text(at + 3) != ':') return Int.MinValue
    val hours = number(text, at + 1, 2)
    val minutes = number(text, at + 4, 2)
    if ((hours | minutes) < 0 || hours > 17 || minutes > 59) return Int.MinValue
    val size = hours * 3600 + minutes * 60
    text(at) match {
      case '+' => size
      case '-' => -size
      case _ => Int.MinValue
    }
  }

  private def isDigit(c: Byte): Boolean = c >= '0' && c <= '9'

  /** Parses digits; negative if one is not a digit. */
  private def number(text: Array[Byte], from: Int, count: Int): Int = {
    var value = 0
    var i = from
    while (i < from + count) {
      val c = text(i)
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

  /** Days since 1970-01-01, proleptic Gregorian, counting years from March. */
  private def epochDay(year: Int, month: Int, day: Int): Long = {
    val y = if (month > 2) year else year - 1
    val era = Math.floorDiv(y, 400)
    val ofEra = y - era * 400
    val ofYear = (153 * (if (month > 2) month - 3 else month + 9) + 2) / 5 + day - 1
    era * 146097L + ofEra * 365L + ofEra / 4 - ofEra / 100 + ofYear - 719468L
  }
}
