package org.apache.spark.sql.headrace.operators.inorder

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now, Time}
import org.apache.spark.sql.headrace.windows.{GlobalWindow, WindowLayout}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * A step that looks at the rows of each key in order, whatever it looks for: what an operator, the in-process driver and
 * a batch need to run it.
 */
trait InOrderStep extends Serializable {
  def columns: StepColumns

  /** Rows are taken as they come, not in event-time order. */
  def arrival: Boolean

  /** The clock is the watermark: ingestion and processing time. */
  def clockTime: Boolean

  /** Tells the state of this declaration from that of another. */
  def fingerprint: Int

  /** Whether a row can make a difference; one that can't need not wait, nor be taken. */
  def matters(row: InternalRow): Boolean = true

  /** StepColumns of which a row that makes a difference satisfies one; none where that can't be said. */
  def conditions: Seq[Attribute] = Nil

  /** Whether rows that don't matter may stay behind before the shuffle, by asking `matters`, where no columns tell it. */
  def sifts: Boolean = false

  /** A row has come, and may wait: whatever it must remember of now is put into it. */
  def arriving(row: InternalRow): Unit = ()

  /** A matcher of its own for each task. */
  def matcher(): Matcher
}

/** A step that looks for other things from one micro-batch to the next. */
trait ReloadableStep {
  def load(rules: String): Unit
}

/**
 * The columns of such a step: what comes in, what is computed for it before, and the kinds of rows that go out.
 *
 * @param raw the input, with Headrace's own columns (`__ts`, `__position`)
 * @param added conditions that Spark computes on each row before the step, after the input's columns
 * @param keyNames the key's columns
 * @param outputs the step's outputs, the main one first; `late` is added. A row of any has the event time `__ts`
 * @param counted outputs whose rows are counted only
 * @param whole what added columns are computed from, where that is more than what comes in
 */
final class StepColumns(
    val raw: Seq[Attribute], val added: Seq[Alias], keyNames: Seq[String], outputs: Seq[(String, StructType)],
    counted: Set[String] = Set.empty, whole: Option[Seq[Attribute]] = None)
    extends Serializable {
  /** The columns of the frame that the step stands over. */
  val beneath: Seq[Attribute] = whole.getOrElse(raw)
  val input: Seq[Attribute] = raw ++ added.map(_.toAttribute)
  val keys: Seq[Attribute] = keyNames.map(name => raw.find(_.name == name).getOrElse(
    throw new IllegalArgumentException(s"a key must be a column here, got $name")))
  val ts: Attribute = input.find(_.name == "__ts").get
  private val side = new WindowLayout(input, keys, Nil, Nil, GlobalWindow)

  /** The columns that the user sees: those of a row that is kept. */
  val visible: Seq[Attribute] = side.visible.toSeq.map(input(_))
  val keyType: StructType = StepColumns.struct(keys)

  /** TaggedRows rows: `__output` says which of the structs that follow has the row. */
  val output: StructType = (outputs :+ ("late" -> side.late)).foldLeft(new StructType().add("__output", StringType)) {
    case (made, (name, columns)) => made.add(s"__$name", columns)
  }
  private val names = output.fieldNames.tail.map(_.drop(2))
  private val tags = names.map(UTF8String.fromString)
  private val shown = names.map(!counted(_))
  private val late = tags.length - 1
  /** The number of the output that says which partial matches timed out; -1 for none. */
  val timeouts: Int = names.indexOf("timeouts")

  /** Whether somebody may take the rows of an output; others are counted only. */
  def shows(output: Int): Boolean = shown(output)
  def showsLate: Boolean = shown(late)

  /** The plan with the added columns, and without those that are not looked at. */
  def over(plan: LogicalPlan): LogicalPlan = Project(raw ++ added, plan)

  /** A row of the input with the added columns, where no plan has computed them. */
  @transient lazy val complete: UnsafeProjection = UnsafeProjection.create(raw ++ added.map(_.child), beneath)

  @transient lazy val kept: UnsafeProjection = UnsafeProjection.create(visible, input)

  /** A row as it waits in state: without its position, which it is not asked for again. Reuses its result. */
  @transient lazy val waiting: UnsafeProjection = UnsafeProjection.create(
    input.map(a => if (a.name == "__position") Literal(null, a.dataType) else a), input)
  @transient lazy val keyOf: UnsafeProjection = UnsafeProjection.create(keys, input)

  /** The events of a batch's rows of one key, in arrival order. */
  def events(rows: Iterator[InternalRow]): Iterator[Event] = side.arrived(rows, matters = true).map(side.event)

  def tagged(output: Int, row: InternalRow): InternalRow = {
    val values = new Array[Any](tags.length + 1)
    values(0) = tags(output)
    values(output + 1) = row
    new GenericInternalRow(values)
  }

  def late(event: Event, now: Now, reason: String): InternalRow = {
    val known = now.watermark != Time.None
    val by = for (t <- event.time if known) yield now.watermark - t
    val row = event.row.copy()
    val values = side.visible.map(i => row.get(i, input(i).dataType): Any) ++ Array[Any](
      by.orNull, null, if (known) now.watermark else null, UTF8String.fromString(reason))
    tagged(late, new GenericInternalRow(values))
  }
}

object StepColumns {
  def struct(of: Seq[Attribute]): StructType = StructType(of.map(a => StructField(a.name, a.dataType, a.nullable)))
}

/** Collects results as tagged rows, and counts those that are not for the main output. */
final class TaggedRows(columns: StepColumns, counts: Counts) extends MatchOutput {
  private val rows = mutable.ArrayBuffer.empty[InternalRow]

  override def takes(output: Int): Boolean = columns.shows(output)

  override def emit(output: Int, row: InternalRow): Unit = {
    if (output == columns.timeouts) counts.add(Counts.TimedOut, 1)
    if (row != null) rows += columns.tagged(output, row)
  }

  def late(event: Event, now: Now, reason: String): Unit = {
    counts.add(Counts.Late, 1)
    if (columns.showsLate) rows += columns.late(event, now, reason)
  }

  /** What has been emitted since the last call. */
  def take(): Iterator[InternalRow] = {
    val taken = rows.toArray
    rows.clear()
    taken.iterator
  }
}
