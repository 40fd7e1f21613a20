package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.headrace.operators.{Event, Now, Time}
import org.apache.spark.unsafe.types.UTF8String

/** Builds tagged rows: `__output`, `__main`, `__late`. */
final class WindowRows(layout: WindowLayout, kind: WindowKind) extends WindowEmitter {
  private val rows = mutable.ArrayBuffer.empty[InternalRow]
  private val types = layout.main.fields.map(_.dataType)
  private val width = layout.carried.size
  private lazy val carried = layout.carried.map(a => layout.input.indexWhere(_.exprId == a.exprId)).toArray

  /** Returns and clears the collected rows. */
  def take(): Iterator[InternalRow] = {
    val taken = rows.toArray
    rows.clear()
    taken.iterator
  }

  override def pane(key: InternalRow, pane: Pane, retraction: Boolean): Unit =
    main(i => key.get(i, types(i)), pane, retraction)

  override def trailing(key: InternalRow, row: InternalRow, pane: Pane, retraction: Boolean): Unit = {
    main(i => row.get(carried(i), types(i)), pane, retraction)
  }

  override def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String): Unit = {
    val row = event.row.copy()
    val known = now.watermark != Time.None
    val by: Any = if (known && event.at != Time.None) now.watermark - event.at else null
    val values = layout.visible.map(i => row.get(i, layout.input(i).dataType): Any) ++
      Array[Any](by, window.map { case (start, end) => bounds(start, end, null) }.orNull,
        if (known) now.watermark else null, layout.lateReason(row, reason))
    rows += new GenericInternalRow(Array[Any](WindowRows.Late, null, new GenericInternalRow(values)))
  }

  private def main(carried: Int => Any, pane: Pane, retraction: Boolean): Unit = {
    val row = new Array[Any](types.length)
    (0 until width).foreach(i => row(i) = carried(i))
    row(width) = bounds(pane.start, pane.end, pane.number)
    val values = layout.values(pane.values)
    (0 until values.numFields).foreach(i => row(width + 1 + i) = values.get(i, types(width + 1 + i)))
    row(types.length - 2) =
      new GenericInternalRow(Array[Any](pane.index, WindowRows.Timings(pane.timing), retraction))
    row(types.length - 1) = time(pane)
    rows += new GenericInternalRow(Array[Any](WindowRows.Main, new GenericInternalRow(row), null))
  }

  private def bounds(start: Long, end: Long, number: Any): InternalRow = kind match {
    case GlobalWindow => new GenericInternalRow(Array[Any](null, null))
    case _ if layout.window.length == 3 => new GenericInternalRow(Array[Any](start, end, number))
    case _ => new GenericInternalRow(Array[Any](start, end))
  }

  /** Event time of a result. */
  private def time(pane: Pane): Any = kind match {
    case _: Sliding | _: Session | _: Reset => pane.end - 1
    case _ => if (pane.newest == Long.MinValue) null else pane.newest
  }
}

object WindowRows {
  val Main: UTF8String = UTF8String.fromString("main")
  val Late: UTF8String = UTF8String.fromString("late")
  val Timings: Array[UTF8String] = PaneTiming.Names.map(UTF8String.fromString).toArray
}
