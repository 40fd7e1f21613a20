package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer

/** One value of a line; a quoted one is never null. `byte` is its offset in the record, for messages. */
final class CsvValue(val text: String, val quoted: Boolean, record: String, at: Int) {
  def byte: Long = record.substring(0, at).getBytes(UTF_8).length.toLong
}

/**
 * Splits a line. A value that starts with the quote ends with it and may contain the delimiter; the escape
 * precedes a literal quote or escape. A quote inside an unquoted value is literal.
 */
final class CsvSplitter(record: String, options: DecodeOptions) {
  private val end = contentEnd
  private var at = if (record.startsWith("\uFEFF")) 1 else 0

  def split(): Array[CsvValue] = {
    val values = ArrayBuffer(next())
    while (at < end) {
      at += 1
      values += next()
    }
    values.toArray
  }

  /** Reads the value at `at`, and moves `at` to the delimiter or the end. */
  private def next(): CsvValue =
    if (at < end && record.charAt(at) == options.quote) readQuoted() else readBare()

  private def readBare(): CsvValue = {
    val from = at
    val next = record.indexOf(options.delimiter, at)
    at = if (next < 0 || next > end) end else next
    new CsvValue(record.substring(from, at), false, record, from)
  }

  private def readQuoted(): CsvValue = {
    val from = at
    val text = new StringBuilder
    at += 1
    while (!atClosingQuote) {
      if (at >= end) throw invalid("the quote that opens", from, "is never closed")
      if (atEscape) at += 1
      text.append(record.charAt(at))
      at += 1
    }
    at += 1
    if (at < end && record.charAt(at) != options.delimiter) {
      throw invalid(
        s"expected `${options.delimiter}` after the closing quote, got `${record.charAt(at)}`", at, "")
    }
    new CsvValue(text.toString, true, record, from)
  }

  private def atClosingQuote: Boolean = at < end && record.charAt(at) == options.quote && !atEscape

  private def atEscape: Boolean = {
    val c = record.charAt(at)
    c == options.escape && at + 1 < end && {
      val following = record.charAt(at + 1)
      following == options.quote || following == options.escape
    }
  }

  private def invalid(what: String, where: Int, rest: String): DecodeError = {
    val byte = new CsvValue("", false, record, where).byte
    DecodeError.record(s"not CSV: $what at byte $byte $rest".trim)
  }

  private def contentEnd: Int = {
    var last = record.length
    if (last > 0 && record.charAt(last - 1) == '\n') last -= 1
    if (last > 0 && record.charAt(last - 1) == '\r') last -= 1
    last
  }
}
