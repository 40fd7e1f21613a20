package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NoStackTrace

import org.apache.spark.unsafe.types.UTF8String

/** What the quick way can't or needn't read: the record goes to Jackson, which decides. */
private[decode] object NeedsJackson extends RuntimeException with NoStackTrace

/**
 * A cursor over the bytes of one record that reads the plain part of JSON, the part that nearly all records are made
 * of, without objects in between: text is a slice of the record, numbers and timestamps come from their digits.
 * Whatever is out of the ordinary, right or wrong, ends in [[NeedsJackson]]; so this class needs no messages and no opinion.
 */
final class JsonScanner(val bytes: Array[Byte]) {
  private var at = 0

  /** Skips blanks and returns the byte that comes, without taking it; 0 at the end. */
  def peek(): Byte = {
    while (at < bytes.length) {
      val b = bytes(at)
      if (b > ' ' || (b != ' ' && b != '\n' && b != '\r' && b != '\t')) return b
      at += 1
    }
    0
  }

  def atEnd: Boolean = { peek(); at == bytes.length }

  def accept(b: Char): Boolean = {
    val found = peek() == b
    if (found) at += 1
    found
  }

  def expect(b: Char): Unit = if (!accept(b)) throw NeedsJackson

  /** Takes a field's name if it comes next. */
  def acceptName(name: QuotedName): Boolean = {
    peek()
    val found = name.standsAt(bytes, at)
    if (found) at += name.size
    found
  }

  def acceptNull(): Boolean = peek() == 'n' && { word("null"); true }

  def boolean(): Boolean = peek() match {
    case 't' => word("true"); true
    case 'f' => word("false"); false
    case _ => throw NeedsJackson
  }

  /** A text without escapes: the very bytes of the record. */
  def text(): UTF8String = {
    val where = span()
    UTF8String.fromBytes(bytes, (where >> 32).toInt, where.toInt)
  }

  /** Where a text without escapes stands: its first byte in the upper half, its length in the lower. */
  def span(): Long = {
    val from = quotedStart()
    var ascii = true
    var end = plainUntil(from)
    while (end < bytes.length && bytes(end) < 0) {
      ascii = false
      end = plainUntil(end + 1)
    }
    if (end == bytes.length || bytes(end) != '"') throw NeedsJackson
    at = end + 1
    val length = end - from
    if (!ascii && !UTF8String.fromBytes(bytes, from, length).isValid) throw NeedsJackson
    from.toLong << 32 | length
  }

  /** A timestamp in the one usual spelling. */
  def timestamp(): Long = {
    peek()
    val from = at + 1
    span()
    usual(IsoTimestamp.parse(bytes, from, at - 1 - from))
  }

  /** A date in the one usual spelling. */
  def date(): Int = {
    peek()
    val from = at + 1
    span()
    usual(IsoTimestamp.parseDate(bytes, from, at - 1 - from)).toInt
  }

  /** A whole number of up to 18 digits. */
  def whole(): Long = {
    val number = digits()
    if (fraction != 0) throw NeedsJackson
    number
  }

  /** How many digits of the last `digits()` stood after the point. */
  def fraction: Int = afterPoint
  private var afterPoint = 0

  /** The digits of a number, of up to 18 of them, as if it had no point; its sign, but not that of zero. */
  def digits(): Long = {
    peek()
    val negative = at < bytes.length && bytes(at) == '-'
    if (negative) at += 1
    val from = at
    var value = run(0L)
    if (at == from || (bytes(from) == '0' && at - from > 1)) throw NeedsJackson
    afterPoint = 0
    if (at < bytes.length && bytes(at) == '.') {
      at += 1
      val point = at
      value = run(value)
      afterPoint = at - point
      if (afterPoint == 0) throw NeedsJackson
    }
    if (at - from > 18 || at == bytes.length || bytes(at) == 'e' || bytes(at) == 'E') throw NeedsJackson
    if (negative && value == 0) throw NeedsJackson
    if (negative) -value else value
  }

  /** Skips one value of any kind; it must be well formed. */
  def skip(depth: Int): Unit = peek() match {
    case '"' => span()
    case '{' => skipAll('}', named = true, depth)
    case '[' => skipAll(']', named = false, depth)
    case 't' | 'f' => boolean()
    case 'n' => word("null")
    case _ => digits()
  }

  private def skipAll(close: Char, named: Boolean, depth: Int): Unit = {
    if (depth > JsonScanner.MaxDepth) throw NeedsJackson
    at += 1
    if (!accept(close)) {
      do {
        if (named) {
          span()
          expect(':')
        }
        skip(depth + 1)
      } while (accept(','))
      expect(close)
    }
  }

  private def usual(value: Long): Long = if (value == IsoTimestamp.NotIso) throw NeedsJackson else value

  private def run(start: Long): Long = {
    var value = start
    var more = true
    while (more && at + EightBytes.Size <= bytes.length) {
      val eight = EightBytes.at(bytes, at)
      val count = EightBytes.countDigits(eight)
      if (count > 0) value = value * JsonScanner.Powers(count) + EightBytes.number(eight, count)
      at += count
      more = count == EightBytes.Size
    }
    while (more && at < bytes.length && bytes(at) >= '0' && bytes(at) <= '9') {
      value = value * 10 + (bytes(at) - '0')
      at += 1
    }
    value
  }

  /** Where the first byte from `from` on stands that isn't plain text; the record's end if there is none. */
  private def plainUntil(from: Int): Int = {
    var place = from
    var more = true
    while (more && place + EightBytes.Size <= bytes.length) {
      val plain = EightBytes.plain(EightBytes.at(bytes, place))
      place += plain
      more = plain == EightBytes.Size
    }
    while (more && place < bytes.length) {
      val b = bytes(place)
      if (b >= ' ' && b != '"' && b != '\\') place += 1 else more = false
    }
    place
  }

  private def quotedStart(): Int = {
    if (peek() != '"') throw NeedsJackson
    at += 1
    at
  }

  private def next(): Byte = {
    if (at >= bytes.length) throw NeedsJackson
    at += 1
    bytes(at - 1)
  }

  private def word(letters: String): Unit = {
    var i = 0
    while (i < letters.length) {
      if (next() != letters.charAt(i)) throw NeedsJackson
      i += 1
    }
  }
}

object JsonScanner {
  val MaxDepth = 100
  private val Powers = Array.iterate(1L, EightBytes.Size + 1)(_ * 10)
}

/** The name of a field with its quotes; short ones, the most, are compared in one step. */
private[decode] final class QuotedName(name: String) {
  private val quoted = s"\"$name\"".getBytes(UTF_8)
  private val mask = -1L >>> math.max(64 - 8 * quoted.length, 0)
  private val word = EightBytes.at(quoted.padTo(EightBytes.Size, 0.toByte), 0) & mask
  private val short = quoted.length <= EightBytes.Size

  val size: Int = quoted.length

  def standsAt(bytes: Array[Byte], at: Int): Boolean =
    if (short && at + EightBytes.Size <= bytes.length) (EightBytes.at(bytes, at) & mask) == word
    else at + size <= bytes.length && java.util.Arrays.equals(bytes, at, at + size, quoted, 0, size)
}
