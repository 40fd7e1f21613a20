package org.apache.spark.sql.headrace.decode

import java.nio.ByteOrder
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Reads plain JSON objects of plain values from the bytes of a record, without the tokens of a parser: text is
 * a slice of the record, numbers are read from their digits. Whatever is unusual, right or wrong, is left to
 * [[JsonDecoder]]: nested values, escapes, exponents, long numbers, other spellings of times, and all errors.
 *
 * @param perUnit microseconds per unit of a time that is a number
 */
private[decode] final class FlatJson private (schema: StructType, perUnit: Long) {
  import FlatJson._

  private val size = schema.length
  private val names = schema.fieldNames.map(name => s"\"$name\"".getBytes(UTF_8))
  private val kinds = schema.fields.map(field => kindOf(field.dataType))
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray

  /** The next byte, and the number that was read last: its digits, and how many of them are decimals. */
  private var at = 0
  private var digits = 0L
  private var decimals = 0

  /** Returns the row that Jackson's tokens would give, or null. */
  def read(record: Array[Byte]): InternalRow =
    if (record.length > LongRecord) null
    else {
      at = 0
      val row = new GenericInternalRow(size)
      if (readObject(record, row) && peek(record) == End && required.forall(!row.isNullAt(_))) row else null
    }

  private def readObject(record: Array[Byte], row: GenericInternalRow): Boolean = {
    if (!accept(record, '{')) return false
    if (accept(record, '}')) return true
    var next = 0
    var more = true
    while (more) {
      val i = field(record, next)
      if (i == Unusual || !accept(record, ':') || !value(record, i, row)) return false
      if (i >= 0) next = i + 1
      more = accept(record, ',')
    }
    accept(record, '}')
  }

  /** Reads a name; returns its ordinal. Fields usually have the order of the schema. */
  private def field(record: Array[Byte], guess: Int): Int =
    if (peek(record) != '"') Unusual
    else if (guess < size && isAt(record, names(guess))) guess
    else {
      var i = 0
      while (i < size && !isAt(record, names(i))) i += 1
      if (i < size) i else if (text(record)) Unknown else Unusual
    }

  private def isAt(record: Array[Byte], name: Array[Byte]): Boolean = {
    val end = at + name.length
    val matches = end <= record.length && Arrays.equals(record, at, end, name, 0, name.length)
    if (matches) at = end
    matches
  }

  /** Reads a value into a column, or skips it. */
  private def value(record: Array[Byte], i: Int, row: GenericInternalRow): Boolean = {
    val first = peek(record)
    val from = at
    if (first == 'n') {
      if (i >= 0) row.setNullAt(i)
      word(record, Null)
    } else if (i == Unknown) first match {
      case '"' => text(record)
      case 't' => word(record, True)
      case 'f' => word(record, False)
      case _ => number(record)
    }
    else kinds(i) match {
      case Text => first == '"' && text(record) && {
          row.update(i, UTF8String.fromBytes(record, from + 1, at - from - 2))
          true
        }
      case Time if first == '"' =>
        text(record) && {
          val micros = IsoTimestamp.parse(new String(record, from + 1, at - from - 2, ISO_8859_1))
          row.update(i, micros)
          micros != IsoTimestamp.NotIso
        }
      case Time => whole(record, IsoTimestamp.MinMicros / perUnit, IsoTimestamp.MaxMicros / perUnit) && {
          row.update(i, digits * perUnit)
          true
        }
      case Bits64 => whole(record, Long.MinValue, Long.MaxValue) && {
          row.update(i, digits)
          true
        }
      case Bits32 => whole(record, Int.MinValue, Int.MaxValue) && {
          row.update(i, digits.toInt)
          true
        }
      case Floating => number(record) && math.abs(digits) <= Exact && decimals < Powers.length && {
          // Exact: both are doubles, and one division rounds once.
          row.update(i, if (decimals == 0) digits.toDouble else digits / Powers(decimals))
          true
        }
      case Bool =>
        row.update(i, first == 't')
        word(record, if (first == 't') True else False)
    }
  }

  private def whole(record: Array[Byte], least: Long, most: Long): Boolean = number(record) &&
    decimals == 0 && digits >= least && digits <= most

  /** Reads a number of up to 18 digits; what follows must be the end of the value. */
  private def number(record: Array[Byte]): Boolean = {
    val negative = byteAt(record, at) == '-'
    if (negative) at += 1
    val from = at
    var value = 0L
    var point = -1
    var b = byteAt(record, at)
    while ((b >= '0' && b <= '9') || (b == '.' && point < 0)) {
      if (b == '.') point = at else value = value * 10 + (b - '0')
      at += 1
      b = byteAt(record, at)
    }
    val wholeEnd = if (point < 0) at else point
    val length = at - from
    digits = if (negative) -value else value
    decimals = if (point < 0) 0 else at - point - 1
    wholeEnd > from &&
    (wholeEnd - from == 1 || record(from) != '0') &&
    (point < 0 || decimals > 0) && length <= MaxDigits && !(negative && value == 0) && isDelimiter(b)
  }

  /** Skips a text without escapes and control characters. */
  private def text(record: Array[Byte]): Boolean = {
    val from = at + 1
    var ascii = true
    at = plainUntil(record, from)
    while (byteAt(record, at) < 0) {
      ascii = false
      at = plainUntil(record, at + 1)
    }
    val closed = byteAt(record, at) == '"'
    at += 1
    closed && (ascii || UTF8String.fromBytes(record, from, at - 1 - from).isValid)
  }

  /** The first byte from one on that is a quote, a backslash, a control character or not ASCII. */
  private def plainUntil(record: Array[Byte], from: Int): Int = {
    var place = from
    while (place + 8 <= record.length) {
      val eight = Platform.getLong(record, Platform.BYTE_ARRAY_OFFSET + place)
      // A byte's highest bit is set if it is not plain; bits above the first such byte mean nothing.
      val bits =
        (eight |
          (eight - 0x20 * Ones) |
          ((eight ^ '"' * Ones) - Ones) |
          ((eight ^ '\\' * Ones) - Ones)) & 0x80 * Ones
      if (bits != 0) return place + (java.lang.Long.numberOfTrailingZeros(bits) >> 3)
      place += 8
    }
    while (place < record.length && isPlain(record(place))) place += 1
    place
  }

  private def isPlain(b: Byte): Boolean = b >= ' ' && b != '"' && b != '\\'

  private def word(record: Array[Byte], word: Array[Byte]): Boolean = isAt(record, word) &&
    isDelimiter(byteAt(record, at))

  private def isDelimiter(b: Byte): Boolean = b == ',' || b == '}' || isBlank(b)
  private def isBlank(b: Byte): Boolean = b == ' ' || b == '\n' || b == '\r' || b == '\t'

  private def accept(record: Array[Byte], b: Char): Boolean = {
    val matches = peek(record) == b
    if (matches) at += 1
    matches
  }

  /** Skips blanks and returns the next byte. */
  private def peek(record: Array[Byte]): Byte = {
    while (isBlank(byteAt(record, at))) at += 1
    if (at < record.length && record(at) == End) Bad else byteAt(record, at)
  }

  private def byteAt(record: Array[Byte], i: Int): Byte = if (i < record.length) record(i) else End
}

private[decode] object FlatJson {
  /** Creates a reader if all columns have plain types, and JSON writes their names as they are. */
  def apply(schema: StructType, options: DecodeOptions): Option[FlatJson] = {
    val kinds = schema.fields.map(field => kindOf(field.dataType))
    val reads = !options.rejectUnknown && ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN &&
      !kinds.contains(Other) && (options.timestampFormat.isEmpty || !kinds.contains(Time)) &&
      schema.fieldNames.forall(isPlain)
    Option.when(reads)(new FlatJson(schema, options.microsPerUnit))
  }

  private def isPlain(name: String): Boolean = name.forall(c => c >= ' ' && c != '"' && c != '\\')

  private def kindOf(column: DataType): Int = column match {
    case _: StringType => Text
    case LongType => Bits64
    case IntegerType => Bits32
    case DoubleType => Floating
    case TimestampType => Time
    case BooleanType => Bool
    case _ => Other
  }

  private final val Text = 0
  private final val Bits64 = 1
  private final val Bits32 = 2
  private final val Floating = 3
  private final val Time = 4
  private final val Bool = 5
  private final val Other = 6
  private final val Unknown = -1
  private final val Unusual = -2
  private final val End: Byte = 0
  private final val Bad: Byte = 1

  /** Jackson limits the length of a name. */
  private final val LongRecord = 50000
  private final val MaxDigits = 18
  private final val Exact = 1L << 53
  private final val Ones = 0x0101010101010101L
  private val Powers = Array.iterate(1.0, 16)(_ * 10)
  private val Null = "null".getBytes(UTF_8)
  private val True = "true".getBytes(UTF_8)
  private val False = "false".getBytes(UTF_8)
}
