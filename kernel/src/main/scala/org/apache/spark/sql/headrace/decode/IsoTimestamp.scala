package org.apache.spark.sql.headrace.decode

import java.time.{DateTimeException, LocalDate, LocalTime, ZoneOffset}

/**
 * Parses the common timestamp format: `yyyy-MM-dd[T ]HH:mm:ss[.f]`, then nothing, `Z` or an offset. Other
 * formats are left to Spark, whose parser is slower.
 */
object IsoTimestamp {

  val NotIso: Long = Long.MinValue

  /** Start of the year 1 and end of 9999, in microseconds; timestamps outside are decode errors. */
  val MinMicros: Long = -62135596800000000L
  val MaxMicros: Long = 253402300799999999L

  def inRange(micros: Long): Boolean = micros >= MinMicros && micros <= MaxMicros

  private val Seconds = 19
  private val PerSecond = 1000000L

  def parse(text: String): Long =
    if (text.length < Seconds || !hasIsoShape(text)) NotIso
    else
      try {
        val date = LocalDate.of(number(text, 0, 4), number(text, 5, 7), number(text, 8, 10))
        val time = LocalTime.of(number(text, 11, 13), number(text, 14, 16), number(text, 17, Seconds))
        val end = fractionEnd(text)
        val offset = if (isUtc(text, end)) 0 else ZoneOffset.of(text.substring(end)).getTotalSeconds
        val seconds = date.toEpochDay * 86400L + time.toSecondOfDay - offset
        val micros = seconds * PerSecond + fraction(text, end)
        if (inRange(micros)) micros else NotIso
      } catch { case _: DateTimeException => NotIso }

  private def hasIsoShape(text: String): Boolean = text.charAt(4) == '-' && text.charAt(7) == '-' &&
    (text.charAt(10) == 'T' || text.charAt(10) == ' ') && text.charAt(13) == ':' && text.charAt(16) == ':'

  /** True without an offset and with `Z`, for which `ZoneOffset` searches a map. */
  private def isUtc(text: String, end: Int): Boolean = end == text.length ||
    (text.charAt(end) == 'Z' && end + 1 == text.length)

  private def fractionEnd(text: String): Int = {
    var end = Seconds
    if (end < text.length && text.charAt(end) == '.') {
      end += 1
      while (end < text.length && isDigit(text.charAt(end))) end += 1
      if (end == Seconds + 1 || end > Seconds + 10) throw new DateTimeException("expected 1 to 9 digits")
    }
    end
  }

  /** Microseconds of the fraction; digits below are truncated, as in Spark. */
  private def fraction(text: String, end: Int): Long = {
    var micros = 0L
    var scale = PerSecond / 10
    var at = Seconds + 1
    while (at < end) {
      micros += (text.charAt(at) - '0') * scale
      scale /= 10
      at += 1
    }
    micros
  }

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  private def number(text: String, from: Int, until: Int): Int = {
    var value = 0
    var i = from
    while (i < until) {
      if (!isDigit(text.charAt(i))) throw new DateTimeException("expected digits")
      value = value * 10 + (text.charAt(i) - '0')
      i += 1
    }
    value
  }
}
