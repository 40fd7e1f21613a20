package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.Change
import org.apache.spark.sql.headrace.operators.state.BufferedRow

/**
 * The changes in buffered rows: a row labelled `update_before` or `delete` repeats the row that it removes,
 * with its event time, so both are in the buffer until the watermark passes that time.
 */
final class ChangelogRows(input: Seq[Attribute]) {
  private val label = input.indexWhere(_.name == Change.Hidden)
  private val project = UnsafeProjection
    .create(input.filterNot(a => a.name.startsWith("__") || a.name == Change.Shown), input)

  /** True if the row removes an earlier one. */
  def removes(row: InternalRow): Boolean = Change.removes(row, label)

  /** The values by which a removal finds its row. */
  def content(row: InternalRow): UnsafeRow = project(row).copy()

  /** The place of the row that `removal` removes; negative if it is not there. */
  def indexOf(rows: Array[StoredRow], removal: StoredRow): Int = {
    val removed = content(removal.row)
    rows.indexWhere(entry => entry.time == removal.time && content(entry.row) == removed)
  }

  /** Returns the rows that stay, and the removals of rows that are not here. */
  def cancel(rows: Array[BufferedRow]): (Array[BufferedRow], Array[BufferedRow]) = {
    val (removals, added) = rows.partition(entry => removes(entry.row))
    if (removals.isEmpty) (rows, removals)
    else {
      val open = mutable.HashMap.empty[(Long, UnsafeRow), List[BufferedRow]]
      removals.foreach { entry =>
        val key = (entry.time, content(entry.row))
        open(key) = entry :: open.getOrElse(key, Nil)
      }
      val stay = added.filter { entry =>
        val key = (entry.time, content(entry.row))
        open.get(key) match {
          case Some(_ :: rest) =>
            open(key) = rest
            false
          case _ => true
        }
      }
      (stay, open.values.flatten.toArray)
    }
  }
}
