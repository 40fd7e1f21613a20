package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.{ArrivalOrder, Event, LateReason, Time}
import org.apache.spark.sql.headrace.tables.Change
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a windowed step: input, results and late rows.
 *
 * Internal columns start with `__`: `__ts` (event time), `__position`, `__when` (the condition of punctuation
 * and landmark windows), `__of` (the value of delta windows), `__combined` and `__rows` (see `PreAggregate`).
 */
final class WindowLayout(val input: Seq[Attribute], keys: Seq[Attribute], val names: Seq[String],
    val types: Seq[DataType], kind: WindowKind)
    extends Serializable {
  val ts: Int = ordinal("__ts")
  private val combined = ordinal(PreAggregate.Buffer)
  private val position = ordinal("__position")
  private val ahead = ordinal("__ahead")
  private val when: Int = ordinal("__when")
  val of: Int = ordinal("__of")

  /** True if the rows are those of a changelog. */
  val isChangelog: Boolean = ordinal(Change.Hidden) >= 0
  val visible: Array[Int] = input.indices.filterNot(i => input(i).name.startsWith("__")).toArray
  val keyOrdinals: Array[Int] = keys.map(k => input.indexWhere(_.exprId == k.exprId)).toArray

  private val number = kind match {
    case _: Sliding | _: Session | GlobalWindow | _: Trailing => false
    case _ => true
  }
  private val bounds = new StructType().add("start", TimestampType).add("end", TimestampType)
  val window: StructType = if (number) bounds.add("number", LongType) else bounds
  private val pane = new StructType().add("index", IntegerType).add("timing", StringType)
    .add("retraction", BooleanType)
  private val lateBy = DayTimeIntervalType(DayTimeIntervalType.DAY, DayTimeIntervalType.SECOND)

  /** Columns before `window` in a result: the key, or the whole row of a trailing window. */
  val carried: Seq[Attribute] = kind match {
    case _: Trailing =>
      val row = visible.toSeq.map(input(_))
      val resultNames = names.toSet ++ Seq("window", "pane") ++ (if (isChangelog) Seq(Change.Shown) else Nil)
      (keys.filterNot(k => row.exists(_.exprId == k.exprId)) ++ row).filterNot(a => resultNames(a.name))
    case _ => keys
  }

  val main: StructType = StructType(fields(carried).add("window", window).fields ++ fields(names, types) ++
    new StructType().add("pane", pane).add("__ts", TimestampType).fields)

  val late: StructType = fields(visible.toSeq.map(input(_))).add("late_by", lateBy).add("window", window)
    .add("watermark", TimestampType).add("reason", StringType)

  val output: StructType = new StructType().add("__output", StringType).add("__main", main)
    .add("__late", late)

  def withKind(other: WindowKind): WindowLayout = new WindowLayout(input, keys, names, types, other)

  /** Returns this layout over other columns, which include all referenced ones. */
  def withInput(columns: Seq[Attribute]): WindowLayout = new WindowLayout(columns, keys, names, types, kind)

  def event(row: InternalRow): Event = {
    val at = if (row.isNullAt(ts)) Time.None else row.getLong(ts)
    if (combined < 0 || row.isNullAt(combined)) new Event(row, at, 1, null)
    else new Event(row, at, row.getLong(combined + 1), row.getBinary(combined))
  }

  /** The reason of a late row: one too far ahead of the clock has no event time in `__ts`. */
  def lateReason(row: InternalRow, reason: String): UTF8String = UTF8String.fromString(
    if (reason == LateReason.NoEventTime && ahead >= 0 && !row.isNullAt(ahead) && row.getBoolean(ahead))
      LateReason.AheadOfClock
    else reason)

  /** True if a row satisfies the window's condition; null is false. */
  def conditionHolds(row: InternalRow): Boolean = !row.isNullAt(when) && row.getBoolean(when)

  /** Sorts rows by arrival if that `matters`; then returns copies, because Spark reuses its rows. */
  def inArrivalOrder(rows: Iterator[InternalRow], matters: Boolean): Iterator[InternalRow] =
    if (position < 0 || !matters) rows else ArrivalOrder.sort(rows, position)

  /** A row as buffered in state, without its position. Reuses its result. */
  @transient lazy val bufferedRow: UnsafeProjection = UnsafeProjection.create(
    input.map(a => if (a.name == "__position" || a.name == "__ts") Literal(null, a.dataType) else a), input)

  /** Removed rows among those that are buffered. */
  @transient lazy val changes: ChangelogRows = new ChangelogRows(input)

  @transient lazy val keyOf: UnsafeProjection = UnsafeProjection.create(keys, input)

  /** Wraps the bytes of a result. */
  def values(bytes: Array[Byte]): UnsafeRow = {
    val row = new UnsafeRow(types.size)
    row.pointTo(bytes, bytes.length)
    row
  }

  private def ordinal(name: String): Int = input.indexWhere(_.name == name)
  private def fields(of: Seq[Attribute]): StructType =
    StructType(of.map(a => StructField(a.name, a.dataType)))
  private def fields(names: Seq[String], types: Seq[DataType]): Seq[StructField] = names.zip(types)
    .map { case (n, t) => StructField(n, t) }
}
