package org.apache.spark.sql.headrace.python

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.PlannedNode
import org.apache.spark.unsafe.types.UTF8String

/**
 * The positions of the rows at which the Arrow batches of a task begin and end, for the error if the worker
 * dies. Python notes the numbers of its rows; their positions would cost more to send than most rows.
 *
 * @param batch the rows of an Arrow batch
 * @param column the ordinal of the position
 */
private[python] final class RowPositions(batch: Int, column: Int) {
  private val ends = new ConcurrentHashMap[Long, String]
  private var source, partition: UTF8String = _
  private var offset = -1L
  @volatile private var rows = 0L

  def add(row: InternalRow): Unit = {
    if (row.isNullAt(column)) offset = -1L
    else {
      val position = row.getStruct(column, 3)
      val from = position.getUTF8String(1)
      if (from != partition) {
        source = position.getUTF8String(0).clone()
        partition = from.clone()
      }
      offset = position.getLong(2)
    }
    val number = rows + 1
    if (number % batch <= 1 && offset >= 0) ends.put(number, latest)
    rows = number
  }

  /** The position of a row by its number in the task; null if it is not known. */
  def of(number: Long): String = if (number == rows && offset >= 0) latest else ends.get(number)

  private def latest: String = s"$source/$partition/$offset"
}

private[python] object RowPositions {
  val Column = "__position"
  private val known = new ConcurrentHashMap[(Long, String), RowPositions]

  /** The positions of a step's rows in this task, to be filled; null if the rows have none. */
  def begin(step: String, columns: Seq[Attribute], batch: Int): RowPositions = {
    val column = columns.indexWhere(_.name == Column)
    if (column < 0 || batch < 2) null
    else {
      val positions = new RowPositions(batch, column)
      val key = (TaskContext.get().taskAttemptId(), step)
      known.put(key, positions)
      TaskContext.get().addTaskCompletionListener[Unit](_ => known.remove(key))
      positions
    }
  }

  /** The positions of a step's rows in this task; null if the rows have none. */
  def of(step: String): RowPositions = known.get((TaskContext.get().taskAttemptId(), step))

  /** A view of rows without their position. */
  def drop(columns: Seq[Attribute]): ProjectingInternalRow = {
    val others = columns.indices.filter(at => columns(at).name != Column)
    ProjectingInternalRow(DataTypeUtils.fromAttributes(others.map(columns)), others)
  }
}

/** Notes the positions of the rows that a Python function gets, and passes the rows on, perhaps without. */
case class NoteRows(step: String, keep: Boolean, child: LogicalPlan) extends PlannedNode {
  override def output: Seq[Attribute] =
    if (keep) child.output else child.output.filter(_.name != RowPositions.Column)
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): NoteRows = copy(child = next)
  override def planWith(input: SparkPlan): SparkPlan = NoteRowsExec(step, keep, input)
}

object NoteRows {
  /** The rows of a frame with positions, on their way to a Python function. Called from Python. */
  def note(frame: Dataset[Row], step: String, keep: Boolean): Dataset[Row] = PlannedNode
    .over(frame)(NoteRows(step, keep, _))
}

case class NoteRowsExec(step: String, keep: Boolean, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] =
    if (keep) child.output else child.output.filter(_.name != RowPositions.Column)
  override def outputPartitioning: Partitioning =
    if (keep) child.outputPartitioning else UnknownPartitioning(child.outputPartitioning.numPartitions)
  override protected def withNewChildInternal(next: SparkPlan): NoteRowsExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val (name, columns, batch, whole) = (step, child.output, conf.arrowMaxRecordsPerBatch, keep)
    child.execute().mapPartitionsInternal { rows =>
      val positions = RowPositions.begin(name, columns, batch)
      val view = RowPositions.drop(columns)
      rows.map { row =>
        if (positions != null) positions.add(row)
        if (whole) row
        else {
          view.project(row)
          view
        }
      }
    }
  }
}
