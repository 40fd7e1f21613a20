package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer

/** One value of a line; one in quotes is never null. `byte` says where in the record it starts, for messages. */
final class CsvValue(val text: String, val quoted: Boolean, record: String, at: Int) {
  def byte: Long = record.substring(0, at).getBytes(UTF_8).length.toLong
}

/**
 * Takes one line apart. A value that starts with the quote ends with it, and may hold the delimiter; inside, the escape
 * makes a quote (or an escape) plain. A quote further on in a bare value is an ordinary character.
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

  /** The value at `at`, which is left on the delimiter or at the end. */
  private def next(): CsvValue =
    if (at < end && record.charAt(at) == options.quote) quoted() else bare()

  private def bare(): CsvValue = {
    val from = at
    val found = record.indexOf(options.delimiter, at)
    at = if (found < 0 || found > end) end else found
    new CsvValue(record.substring(from, at), false, record, from)
  }

  private def quoted(): CsvValue = {
    val from = at
    val text = new StringBuilder
    at += 1
    while (!closes) {
      if (at >= end) throw wrong("the quote that opens", from, "is never closed")
      if (escapes) at += 1
      text.append(record.charAt(at))
      at += 1
    }
    at += 1
    if (at < end && record.charAt(at) != options.delimiter) {
      throw wrong(s"expected `${options.delimiter}` after the closing quote, got `${record.charAt(at)}`", at, "")
    }
    new CsvValue(text.toString, true, record, from)
  }

  private def closes: Boolean = at < end && record.charAt(at) == options.quote && !escapes

  private def escapes: Boolean = {
    val c = record.charAt(at)
    c == options.escape && at + 1 < end && {
      val following = record.charAt(at + 1)
      following == options.quote || following == options.escape
    }
  }

  private def wrong(what: String, where: Int, rest: String): DecodeError = {
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
