package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.Change
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a windowed step that other keyed steps do not have: `__when` (the condition of punctuation
 * and landmark windows), `__of` (the value of delta windows), and those of its results.
 */
final class WindowLayout(input: Seq[Attribute], keys: Seq[Attribute], val names: Seq[String],
    val types: Seq[DataType], kind: WindowKind)
    extends Serializable {
  private val when = input.indexWhere(_.name == "__when")
  private val of = input.indexWhere(_.name == "__of")

  val isChangelog: Boolean = input.exists(_.name == Change.Hidden)

  /** True if windows have a number: their bounds depend on the rows. */
  val numbered: Boolean = kind match {
    case _: Sliding | _: Cumulating | _: Session | GlobalWindow | Attached | _: Trailing => false
    case _ => true
  }
  val window: StructType = if (numbered) StepColumns.Bounds.add("number", LongType) else StepColumns.Bounds

  /** Columns before `window` in a result: the key, or the whole row of a trailing window. */
  private val carried: Seq[Attribute] = kind match {
    case _: Trailing =>
      val row = input.filterNot(_.name.startsWith("__"))
      val resultNames = names.toSet ++ Seq("window", "pane") ++ (if (isChangelog) Seq(Change.Shown) else Nil)
      (keys.filterNot(k => row.exists(_.exprId == k.exprId)) ++ row).filterNot(a => resultNames(a.name))
    case Attached => keys.dropRight(2) // the bounds are in `window`
    case _ => keys
  }
  private val carriedAt = carried.map(a => input.indexWhere(_.exprId == a.exprId)).toArray

  val main: StructType = {
    val pane = new StructType().add("index", IntegerType).add("timing", StringType)
      .add("retraction", BooleanType)
    val before = carried.map(a => StructField(a.name, a.dataType)) :+ StructField("window", window)
    StructType(before ++ names.zip(types).map { case (n, t) => StructField(n, t) }).add("pane", pane)
      .add("__ts", TimestampType)
  }

  /** True if a row satisfies the window's condition; null is false. */
  def conditionHolds(row: InternalRow): Boolean = !row.isNullAt(when) && row.getBoolean(when)

  /** The value of a delta window; NaN for null. */
  def value(row: InternalRow): Double = if (row.isNullAt(of)) Double.NaN else row.getDouble(of)

  /** A row as buffered in state, without position and time. Reuses its result. */
  @transient lazy val bufferedRow: UnsafeProjection = UnsafeProjection.create(
    input.map(a => if (a.name == "__position" || a.name == "__ts") Literal(null, a.dataType) else a), input)

  /** Removed rows among those that are buffered. */
  @transient lazy val changes: ChangelogRows = new ChangelogRows(input)

  def paneRow(key: InternalRow, pane: Pane, retraction: Boolean): InternalRow =
    row(i => key.get(i, carried(i).dataType), pane, retraction)

  /** The row of a trailing window, which carries the columns of its row. */
  def trailingRow(of: InternalRow, pane: Pane, retraction: Boolean): InternalRow =
    row(i => of.get(carriedAt(i), carried(i).dataType), pane, retraction)

  /** The column `window`; the global window has no bounds. */
  def bounds(start: Long, end: Long, number: Any): InternalRow = new GenericInternalRow(kind match {
    case GlobalWindow => Array[Any](null, null)
    case _ => if (numbered) Array[Any](start, end, number) else Array[Any](start, end)
  })

  private def row(carriedValue: Int => Any, pane: Pane, retraction: Boolean): InternalRow = {
    val values = new UnsafeRow(types.size)
    values.pointTo(pane.values, pane.values.length)
    val row = new Array[Any](main.length)
    val width = carriedAt.length
    (0 until width).foreach(i => row(i) = carriedValue(i))
    row(width) = bounds(pane.start, pane.end, pane.number)
    types.indices.foreach(i => row(width + 1 + i) = values.get(i, types(i)))
    row(row.length - 2) =
      new GenericInternalRow(Array[Any](pane.index, WindowLayout.Timings(pane.timing), retraction))
    row(row.length - 1) = time(pane)
    new GenericInternalRow(row)
  }

  private def time(pane: Pane): Any = kind match {
    case _: Sliding | _: Cumulating | _: Session | _: Reset | Attached => pane.end - 1
    case _ => if (pane.newest == Long.MinValue) null else pane.newest
  }
}

object WindowLayout {
  private val Timings: Array[UTF8String] = PaneTiming.Names.map(UTF8String.fromString).toArray
}
