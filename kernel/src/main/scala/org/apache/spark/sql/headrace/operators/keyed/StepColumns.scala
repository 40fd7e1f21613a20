package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.headrace.operators.{ArrivalOrder, Event, LateReason, Now, Time}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a keyed step: input, computed columns, and outputs.
 *
 * @param raw the input, with internal columns (`__ts`, `__position`, `__ahead`)
 * @param added columns that Spark computes per row, appended to the input
 * @param keyNames the key columns
 * @param outputs the outputs, the main one first; `late` is added. Each has the event time `__ts`
 * @param counted outputs whose rows are only counted
 * @param whole the columns that `added` is computed from, if more than `raw`
 * @param window the column `window` of late rows
 */
final class StepColumns(val raw: Seq[Attribute], val added: Seq[Alias], keyNames: Seq[String],
    outputs: Seq[(String, StructType)], counted: Set[String] = Set.empty,
    whole: Option[Seq[Attribute]] = None, window: StructType = StepColumns.Bounds)
    extends Serializable {
  /** Columns of the input frame. */
  val source: Seq[Attribute] = whole.getOrElse(raw)
  val input: Seq[Attribute] = raw ++ added.map(_.toAttribute)
  val keys: Seq[Attribute] = keyNames.map(name =>
    raw.find(_.name == name)
      .getOrElse(throw new IllegalArgumentException(s"a key must be a column here, got $name")))
  val ts: Attribute = input.find(_.name == "__ts").get
  val keyType: StructType = StepColumns.struct(keys)
  private val Seq(timeAt, positionAt, aheadAt, bufferAt, rowsAt) =
    Seq("__ts", "__position", "__ahead", StepColumns.Buffer, StepColumns.Rows)
      .map(name => input.indexWhere(_.name == name))
  private val visibleAt = input.indices.filterNot(i => input(i).name.startsWith("__")).toArray

  /** The user's columns, which matches store. */
  val visible: Seq[Attribute] = visibleAt.toSeq.map(input(_))
  private val lateColumns = StructType(visible.map(a => StructField(a.name, a.dataType)))
    .add("late_by", DayTimeIntervalType(DayTimeIntervalType.DAY, DayTimeIntervalType.SECOND))
    .add("window", window).add("watermark", TimestampType).add("reason", StringType)

  /** Tagged rows: `__output` names the struct that holds the row. */
  val output: StructType = (outputs :+ ("late" -> lateColumns))
    .foldLeft(new StructType().add("__output", StringType)) { case (made, (name, columns)) =>
      made.add(s"__$name", columns)
    }
  private val names = output.fieldNames.tail.map(_.drop(2))
  private val tags = names.map(UTF8String.fromString)
  private val emitted = names.map(!counted(_))
  private val late = tags.length - 1

  /** Index of the output of timed-out partial matches; -1 for none. */
  val timeouts: Int = names.indexOf("timeouts")

  /** False if rows of an output are only counted. */
  def emits(output: Int): Boolean = emitted(output)
  def emitsLate: Boolean = emitted(late)

  /** Adds the computed columns to a plan and drops unused ones. */
  def over(plan: LogicalPlan): LogicalPlan = Project(raw ++ added, plan)

  /** Computes a full input row where no plan does. */
  @transient lazy val withAddedColumns: UnsafeProjection = UnsafeProjection
    .create(raw ++ added.map(_.child), source)

  @transient lazy val storedRow: UnsafeProjection = UnsafeProjection.create(visible, input)

  /** A row as buffered in state, without its position. Reuses its result. */
  @transient lazy val bufferedRow: UnsafeProjection = UnsafeProjection
    .create(input.map(a => if (a.name == "__position") Literal(null, a.dataType) else a), input)
  @transient lazy val keyOf: UnsafeProjection = UnsafeProjection.create(keys, input)

  /** True if the rows of `events` are copies: those that have been sorted. */
  val copiesRows: Boolean = positionAt >= 0

  /** Events of a key in one micro-batch, in arrival order if the rows have positions. */
  def events(rows: Iterator[InternalRow]): Iterator[Event] =
    (if (positionAt < 0) rows else ArrivalOrder.sort(rows, positionAt)).map(event)

  private def event(row: InternalRow): Event = {
    val at = if (row.isNullAt(timeAt)) Time.None else row.getLong(timeAt)
    if (bufferAt < 0 || row.isNullAt(bufferAt)) new Event(row, at, 1, null)
    else new Event(row, at, row.getLong(rowsAt), row.getBinary(bufferAt))
  }

  def tag(output: Int, row: InternalRow): InternalRow = {
    val values = new Array[Any](tags.length + 1)
    values(0) = tags(output)
    values(output + 1) = row
    new GenericInternalRow(values)
  }

  def late(event: Event, now: Now, reason: String, window: InternalRow): InternalRow = {
    val known = now.watermark != Time.None
    val by = for (t <- event.time if known) yield now.watermark - t
    val row = event.row.copy()
    val values = visibleAt.map(i => row.get(i, input(i).dataType): Any) ++
      Array[Any](by.orNull, window, if (known) now.watermark else null, lateReason(row, reason))
    tag(late, new GenericInternalRow(values))
  }

  /** A row too far ahead of the clock has no event time in `__ts`. */
  private def lateReason(row: InternalRow, reason: String): UTF8String = UTF8String.fromString(
    if (reason == LateReason.NoEventTime && aheadAt >= 0 && !row.isNullAt(aheadAt) && row.getBoolean(aheadAt))
      LateReason.AheadOfClock
    else reason)
}

object StepColumns {
  /** Columns of pre-aggregated rows: the aggregates, null for a plain row, and the number of rows. */
  val Buffer = "__combined"
  val Rows = "__rows"

  val Bounds: StructType = new StructType().add("start", TimestampType).add("end", TimestampType)

  def struct(of: Seq[Attribute]): StructType =
    StructType(of.map(a => StructField(a.name, a.dataType, a.nullable)))
}
