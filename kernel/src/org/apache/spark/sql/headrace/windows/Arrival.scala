/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import java.util.{Arrays, Comparator}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/** A row and where in its source it stood; a row without a position comes after all others. */
private final class Placed(val row: InternalRow, at: InternalRow) {
  val known: Boolean = at != null
  val source: UTF8String = text(at, 0)
  val partition: UTF8String = text(at, 1)
  val offset: Long = if (known) at.getLong(2) else 0L

  private def text(at: InternalRow, i: Int): UTF8String =
    if (at == null || at.isNullAt(i)) UTF8String.EMPTY_UTF8 else at.getUTF8String(i)
}

/** The order of arrival within a batch: by source, partition and offset. */
object Arrival {
  private val order: Comparator[Placed] = (a, b) =>
    if (!a.known || !b.known) java.lang.Boolean.compare(b.known, a.known)
    else {
      val source = a.source.compareTo(b.source)
      val partition = if (source != 0) source else a.partition.compareTo(b.partition)
      if (partition != 0) partition else java.lang.Long.compare(a.offset, b.offset)
    }

  /** The rows in that order, as copies: Spark reuses its rows. `position` is the column that says it. */
  def sorted(rows: Iterator[InternalRow], position: Int): Iterator[InternalRow] = {
    val all = mutable.ArrayBuffer.empty[Placed]
    var inOrder = true
    while (rows.hasNext) {
      val row = rows.next().copy()
      val placed = new Placed(row, if (row.isNullAt(position)) null else row.getStruct(position, 3))
      // Mostly they come in order already, a run for each task that read them.
      if (inOrder && all.nonEmpty && order.compare(all.last, placed) > 0) inOrder = false
      all += placed
    }
    if (inOrder) all.iterator.map(_.row)
    else {
      val array = all.toArray
      Arrays.sort(array, order)
      array.iterator.map(_.row)
    }
  }
}
