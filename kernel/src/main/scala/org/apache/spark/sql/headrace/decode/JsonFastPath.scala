package org.apache.spark.sql.headrace.decode

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Reads a value of one type at the scanner's place, or throws [[NeedsJackson]]. */
private[decode] trait FastReader {
  def read(scanner: JsonScanner): Any

  def readOrNull(scanner: JsonScanner): Any = if (scanner.acceptNull()) null else read(scanner)
}

/**
 * The quick way through plain records. It gives the row that Jackson's way would give, or null, and then Jackson's way
 * has the word. A task whose records keep being unusual stops trying.
 */
private[decode] final class JsonFastPath(root: FastObject) {
  private var credit = JsonFastPath.Credit

  def read(bytes: Array[Byte]): InternalRow =
    if (credit < 0 || bytes.length > JsonFastPath.LongRecord) null
    else {
      val scanner = new JsonScanner(bytes) // not one for all records: to change an old object is dearer than a new one
      try {
        val row = root.readObject(scanner)
        if (!scanner.atEnd) throw NeedsJackson
        if (credit < JsonFastPath.Credit) credit += 1
        row
      } catch {
        case NeedsJackson =>
          credit -= 2
          null
      }
    }
}

private[decode] object JsonFastPath {
  private val Credit = 200
  private val LongRecord = 1 << 20
  private val Powers = Array.iterate(1.0, 16)(_ * 10)
  private val LongPowers = Array.iterate(1L, 19)(_ * 10)
  private val Exact = 1L << 53

  /** The quick way for a schema, if all its types have one. */
  def apply(schema: StructType, options: DecodeOptions): Option[JsonFastPath] = {
    val usual = options.timestampFormat.isEmpty && options.dateFormat.isEmpty && !options.rejectUnknown
    if (usual && known(schema)) Some(new JsonFastPath(new FastObject(schema)))
    else None
  }

  private def known(kind: DataType): Boolean = kind match {
    case _: StringType | BooleanType | ByteType | ShortType | IntegerType | LongType | DoubleType => true
    case TimestampType | DateType => true
    case decimal: DecimalType => decimal.precision <= Decimal.MAX_LONG_DIGITS
    case ArrayType(element, _) => known(element)
    case MapType(_: StringType, value, _) => known(value)
    case struct: StructType => struct.forall(field => plain(field.name) && known(field.dataType))
    case _ => false
  }

  /** Whether JSON writes the name as it is. */
  private def plain(name: String): Boolean = name.forall(c => c >= ' ' && c != '"' && c != '\\')

  def reader(kind: DataType): FastReader = kind match {
    case _: StringType => _.text()
    case BooleanType => _.boolean()
    case LongType => _.whole()
    case IntegerType => scanner => within(scanner.whole(), Int.MinValue, Int.MaxValue).toInt
    case ShortType => scanner => within(scanner.whole(), Short.MinValue, Short.MaxValue).toShort
    case ByteType => scanner => within(scanner.whole(), Byte.MinValue, Byte.MaxValue).toByte
    case DoubleType => scanner => double(scanner)
    case TimestampType => _.timestamp()
    case DateType => _.date()
    case decimal: DecimalType => decimalReader(decimal)
    case ArrayType(element, _) => new FastArray(reader(element))
    case MapType(_, value, _) => new FastMap(reader(value))
    case struct: StructType => new FastObject(struct)
    case other => throw new IllegalArgumentException(s"no quick way to read ${other.sql}")
  }

  def within(value: Long, least: Long, most: Long): Long =
    if (value < least || value > most) throw NeedsJackson else value

  /** Exact: both the digits and the power of ten have doubles of their own, and one division rounds once. */
  def double(scanner: JsonScanner): Double = {
    val digits = scanner.digits()
    if (digits > Exact || digits < -Exact || scanner.fraction >= Powers.length) throw NeedsJackson
    if (scanner.fraction == 0) digits.toDouble else digits / Powers(scanner.fraction)
  }

  private def decimalReader(kind: DecimalType): FastReader = scanner => {
    val digits = scanner.digits()
    val missing = kind.scale - scanner.fraction
    val limit = if (missing < 0) -1L else LongPowers(kind.precision) / LongPowers(missing)
    if (digits >= limit || digits <= -limit) throw NeedsJackson
    Decimal(digits * LongPowers(missing), kind.precision, kind.scale)
  }
}

/** See [[JsonObject]], which it agrees with. */
private[decode] final class FastObject(schema: StructType) extends FastReader {
  private val size = schema.length
  private val kinds = schema.fields.map(field => JsonRow.kind(field.dataType))
  private val readers = schema.fields.map(field => JsonFastPath.reader(field.dataType))
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray
  private val plain = schema.fieldNames.map(UTF8String.fromString)
  private val quoted = schema.fieldNames.map(new QuotedName(_))
  private val index = new java.util.HashMap[UTF8String, Integer]
  plain.zipWithIndex.foreach { case (name, i) => index.put(name, i) }

  override def read(scanner: JsonScanner): Any = readObject(scanner)

  def readObject(scanner: JsonScanner): InternalRow = {
    scanner.expect('{')
    val row = new JsonRow(scanner.bytes, kinds)
    if (!scanner.accept('}')) {
      var next = 0
      do {
        val i = field(scanner, next)
        scanner.expect(':')
        if (i < 0) scanner.skip(0)
        else {
          if (scanner.acceptNull()) row.setNullAt(i) else row.read(i, scanner, readers(i))
          next = i + 1
        }
      } while (scanner.accept(','))
      scanner.expect('}')
    }
    var needed = 0
    while (needed < required.length) {
      if (row.isNullAt(required(needed))) throw NeedsJackson
      needed += 1
    }
    row
  }

  private def field(scanner: JsonScanner, guess: Int): Int =
    if (guess < size && scanner.acceptName(quoted(guess))) guess
    else {
      val found = index.get(scanner.text())
      if (found == null) -1 else found
    }
}

private[decode] final class FastArray(element: FastReader) extends FastReader {
  override def read(scanner: JsonScanner): Any = {
    scanner.expect('[')
    val values = ArrayBuffer.empty[Any]
    if (!scanner.accept(']')) {
      do values += element.readOrNull(scanner) while (scanner.accept(','))
      scanner.expect(']')
    }
    new GenericArrayData(values.toArray)
  }
}

private[decode] final class FastMap(value: FastReader) extends FastReader {
  override def read(scanner: JsonScanner): Any = {
    scanner.expect('{')
    val entries = new java.util.LinkedHashMap[UTF8String, Any]
    if (!scanner.accept('}')) {
      do {
        val key = scanner.text()
        scanner.expect(':')
        entries.put(key, value.readOrNull(scanner))
      } while (scanner.accept(','))
      scanner.expect('}')
    }
    new ArrayBasedMapData(
      new GenericArrayData(entries.keySet.toArray.asInstanceOf[Array[Any]]),
      new GenericArrayData(entries.values.toArray.asInstanceOf[Array[Any]]))
  }
}
