package org.apache.spark.sql.headrace.operators

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.types.UTF8String

/** A row with its source position. Rows without a position sort after all others. */
private final class PositionedRow(val row: InternalRow, at: InternalRow) {
  val known: Boolean = at != null
  val source: UTF8String = text(at, 0)
  val partition: UTF8String = text(at, 1)
  val offset: Long = if (known) at.getLong(2) else 0L
  private def text(at: InternalRow, i: Int): UTF8String =
    if (at == null || at.isNullAt(i)) UTF8String.EMPTY_UTF8 else at.getUTF8String(i)
}

/** Arrival order within a micro-batch: by source, partition and offset. */
object ArrivalOrder {
  private val order: Comparator[PositionedRow] = (a, b) =>
    if (!a.known || !b.known) java.lang.Boolean.compare(b.known, a.known)
    else {
      val source = a.source.compareTo(b.source)
      val partition = if (source != 0) source else a.partition.compareTo(b.partition)
      if (partition != 0) partition else java.lang.Long.compare(a.offset, b.offset)
    }

  /** Returns copies of the rows (Spark reuses them) in arrival order; `position` is an ordinal. */
  def sort(rows: Iterator[InternalRow], position: Int): Iterator[InternalRow] = {
    val all = mutable.ArrayBuffer.empty[InternalRow]
    var inOrder = true
    var before: InternalRow = null
    while (rows.hasNext) {
      val row = rows.next().copy()
      val at = positionOf(row, position)
      // Rows usually arrive sorted, one run per upstream task, so check before sorting.
      if (inOrder && all.nonEmpty) {
        inOrder = follows(before, at) ||
          order.compare(new PositionedRow(all.last, before), new PositionedRow(row, at)) <= 0
      }
      before = at
      all += row
    }
    if (inOrder) all.iterator
    else {
      val array = all.iterator.map(row => new PositionedRow(row, positionOf(row, position))).toArray
      Arrays.sort(array, order)
      array.iterator.map(_.row)
    }
  }

  private def positionOf(row: InternalRow, position: Int): InternalRow =
    if (row.isNullAt(position)) null else row.getStruct(position, 3)

  /** True if `b` is at or after `a` in the same partition, i.e. all bytes but the offset are equal. */
  private def follows(a: InternalRow, b: InternalRow): Boolean = (a, b) match {
    case (a: UnsafeRow, b: UnsafeRow) => a.getSizeInBytes == b.getSizeInBytes && a.getLong(2) <= b.getLong(
        2) && bytesEqual(a, b, 0, Offset) && bytesEqual(a, b, Offset + 8, a.getSizeInBytes - Offset - 8)
    case _ => false
  }

  private def bytesEqual(a: UnsafeRow, b: UnsafeRow, from: Int, length: Int): Boolean = ByteArrayMethods
    .arrayEquals(a.getBaseObject, a.getBaseOffset + from, b.getBaseObject, b.getBaseOffset + from, length)

  /** Byte offset of the `offset` field in a position row. */
  private val Offset = 24
}
