package org.apache.spark.sql.headrace.decode

import java.lang.Double.{doubleToRawLongBits, longBitsToDouble}

import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * A decoded record: numbers as they are, text as where it stands in the record. Text becomes an object when somebody asks
 * for it, and of most records most columns are never asked for.
 */
private[decode] final class JsonRow(record: Array[Byte], kinds: Array[Int]) extends BaseGenericInternalRow {
  import JsonRow._

  /** A number for each column, then a bit for each that has a value. */
  private val slots = new Array[Long](kinds.length + (kinds.length + 63) / 64)
  /** Values that are no number and no text; most records have none. */
  private var objects: Array[Any] = _

  /** Reads the column's value at the scanner's place; the reader serves kinds without a slot. */
  def read(i: Int, scanner: JsonScanner, reader: FastReader): Unit = kinds(i) match {
    case Text => set(i, scanner.span())
    case Int32 => set(i, JsonFastPath.within(scanner.whole(), Int.MinValue, Int.MaxValue))
    case Int64 => set(i, scanner.whole())
    case Float64 => set(i, doubleToRawLongBits(JsonFastPath.double(scanner)))
    case Timestamp => set(i, scanner.timestamp())
    case _ => update(i, reader.read(scanner))
  }

  override def numFields: Int = kinds.length
  override def isNullAt(i: Int): Boolean = (slots(kinds.length + (i >> 6)) >> (i & 63) & 1L) == 0L
  override def getInt(i: Int): Int = if (kinds(i) == Object) objects(i).asInstanceOf[Int] else slots(i).toInt
  override def getLong(i: Int): Long = slots(i)
  override def getDouble(i: Int): Double = longBitsToDouble(slots(i))
  override def getUTF8String(i: Int): UTF8String =
    if (isNullAt(i)) null else UTF8String.fromBytes(record, (slots(i) >> 32).toInt, slots(i).toInt)

  override def setNullAt(i: Int): Unit = slots(kinds.length + (i >> 6)) &= ~(1L << (i & 63))

  override def update(i: Int, value: Any): Unit = {
    if (objects == null) objects = new Array[Any](kinds.length)
    objects(i) = value
    set(i, 0L)
  }

  override protected def genericGet(i: Int): Any = if (isNullAt(i)) null else kinds(i) match {
    case Text => getUTF8String(i)
    case Int32 => getInt(i)
    case Int64 | Timestamp => getLong(i)
    case Float64 => getDouble(i)
    case _ => objects(i)
  }

  private def set(i: Int, value: Long): Unit = {
    slots(i) = value
    slots(kinds.length + (i >> 6)) |= 1L << (i & 63)
  }
}

private[decode] object JsonRow {
  private final val Object = 0
  private final val Text = 1
  private final val Int32 = 2
  private final val Int64 = 3
  private final val Float64 = 4
  private final val Timestamp = 5

  /** How a column of each type is held. */
  def kind(of: DataType): Int = of match {
    case _: StringType => Text
    case IntegerType => Int32
    case LongType => Int64
    case DoubleType => Float64
    case TimestampType => Timestamp
    case _ => Object
  }
}
