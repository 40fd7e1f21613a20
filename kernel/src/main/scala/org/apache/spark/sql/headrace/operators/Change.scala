package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{StringType, StructField}
import org.apache.spark.unsafe.types.UTF8String

/** Labels of the rows of a changelog. `change` is the user's column; `__change` stays if it is dropped. */
object Change {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val UpdateBefore: UTF8String = UTF8String.fromString("update_before")
  val UpdateAfter: UTF8String = UTF8String.fromString("update_after")
  val Delete: UTF8String = UTF8String.fromString("delete")

  /** The user's column and the internal one. */
  val Shown = "change"
  val Hidden = "__change"
  val fields: Seq[StructField] = Seq(StructField(Shown, StringType), StructField(Hidden, StringType))

  /** True if a row with this label removes a row of the table. A row without a label is an insert. */
  def removes(label: UTF8String): Boolean = label == UpdateBefore || label == Delete

  /** True if a row removes an earlier one; `label` is the ordinal of its label, negative for none. */
  def removes(row: InternalRow, label: Int): Boolean = label >= 0 && !row.isNullAt(label) &&
    removes(row.getUTF8String(label))

  /** Emits the changes that turn a row of a table into another; null for no row. */
  def between(before: UnsafeRow, after: UnsafeRow)(emit: (UnsafeRow, UTF8String) => Unit): Unit =
    if (before == null && after != null) emit(after, Insert)
    else if (before != null && after == null) emit(before, Delete)
    else if (before != null && before != after) {
      emit(before, UpdateBefore)
      emit(after, UpdateAfter)
    }
}
