package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.headrace.operators.{Event, Now, Time}
import org.apache.spark.sql.headrace.windows.{GlobalWindow, WindowLayout}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a keyed step: input, computed conditions, and outputs.
 *
 * @param raw the input, with internal columns (`__ts`, `__position`)
 * @param added conditions that Spark computes per row, appended to the input
 * @param keyNames the key columns
 * @param outputs the outputs, the main one first; `late` is added. Each has the event time `__ts`
 * @param counted outputs whose rows are only counted
 * @param whole the columns that `added` is computed from, if more than `raw`
 */
final class StepColumns(val raw: Seq[Attribute], val added: Seq[Alias], keyNames: Seq[String],
    outputs: Seq[(String, StructType)], counted: Set[String] = Set.empty,
    whole: Option[Seq[Attribute]] = None)
    extends Serializable {
  /** Columns of the input frame. */
  val source: Seq[Attribute] = whole.getOrElse(raw)
  val input: Seq[Attribute] = raw ++ added.map(_.toAttribute)
  val keys: Seq[Attribute] = keyNames.map(name =>
    raw.find(_.name == name)
      .getOrElse(throw new IllegalArgumentException(s"a key must be a column here, got $name")))
  val ts: Attribute = input.find(_.name == "__ts").get
  private val side = new WindowLayout(input, keys, Nil, Nil, GlobalWindow)

  /** The user's columns, which matches store. */
  val visible: Seq[Attribute] = side.visible.toSeq.map(input(_))
  val keyType: StructType = StepColumns.struct(keys)

  /** Tagged rows: `__output` names the struct that holds the row. */
  val output: StructType = (outputs :+ ("late" -> side.late))
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

  /** Events of a key in one micro-batch, in arrival order. */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = side.inArrivalOrder(rows, matters = true)
    .map(side.event)

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
    val values = side.visible.map(i => row.get(i, input(i).dataType): Any) ++
      Array[Any](by.orNull, window, if (known) now.watermark else null, side.lateReason(row, reason))
    tag(late, new GenericInternalRow(values))
  }
}

object StepColumns {
  def struct(of: Seq[Attribute]): StructType =
    StructType(of.map(a => StructField(a.name, a.dataType, a.nullable)))
}
