package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.{Change, Event}
import org.apache.spark.sql.types.{DataType, StructField}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The rows of a table as they are stored: computed keys, the user's columns without `change`, the event time,
 * and `added` columns that are not part of the output.
 *
 * @param input the columns of the input
 * @param added names of internal columns to store
 */
final class TableRows(input: Seq[Attribute], added: Seq[String] = Nil) extends Serializable {
  private val label = input.indexWhere(_.name == Change.Hidden)

  val columns: Seq[Attribute] = input.filter(_.name.startsWith(TableRows.ComputedKey)) ++
    input.filterNot(a => a.name.startsWith("__") || (label >= 0 && a.name == Change.Shown))
  private val time = input.find(_.name == "__ts").get

  val stored: Seq[Attribute] = (columns :+ time) ++ added.map(name => input.find(_.name == name).get)
  val types: Array[DataType] = stored.map(_.dataType).toArray
  val width: Int = stored.size
  val fields: Seq[StructField] = columns.map(a => StructField(a.name, a.dataType))
  val timeField: StructField = StructField("__ts", time.dataType)

  @transient private lazy val content = UnsafeProjection.create(stored, input)

  def toStored(row: InternalRow): UnsafeRow = content(row).copy()

  /** True if the row removes an earlier one. */
  def removes(row: InternalRow): Boolean = Change.removes(row, label)

  /** The label of a row of a changelog. */
  def labelOf(row: InternalRow): UTF8String = row.getUTF8String(label)

  def isChangelog: Boolean = label >= 0

  /** The net effect of events: how often each row is added, negative if it is removed. */
  def net(events: Iterator[Event]): mutable.LinkedHashMap[UnsafeRow, Int] = {
    val counts = mutable.LinkedHashMap.empty[UnsafeRow, Int]
    events.foreach { event =>
      val row = toStored(event.row)
      val count = counts.remove(row).getOrElse(0) + (if (removes(event.row)) -1 else 1)
      if (count != 0) counts.put(row, count)
    }
    counts
  }

  def values(row: UnsafeRow): Array[Any] = Array.tabulate[Any](columns.size)(i => row.get(i, types(i)))

  /** The event time of a stored row, or null. */
  def timeOf(row: UnsafeRow): Any = row.get(columns.size, types(columns.size))
}

object TableRows {
  /** Prefix of the columns of computed keys. */
  val ComputedKey = "__key_"
}
