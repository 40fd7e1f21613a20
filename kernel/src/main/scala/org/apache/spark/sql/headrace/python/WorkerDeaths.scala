package org.apache.spark.sql.headrace.python

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.util.control.NonFatal

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.PlannedNode

/**
 * Rows that a Python function made. If the Python worker dies, the error names the step and the rows of the
 * batch on which it died, which the worker has noted in a file.
 */
case class WatchWorker(step: String, child: LogicalPlan) extends PlannedNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(next: LogicalPlan): WatchWorker = copy(child = next)
  override def planWith(input: SparkPlan): SparkPlan = WatchWorkerExec(step, input)
}

object WatchWorker {
  /** Watches the worker of a frame that applies a Python function. Called from Python. */
  def watch(frame: Dataset[Row], step: String): Dataset[Row] = PlannedNode.over(frame)(WatchWorker(step, _))
}

case class WatchWorkerExec(step: String, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(next: SparkPlan): WatchWorkerExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val name = step
    child.execute().mapPartitionsInternal(rows => new WatchedRows(name, rows))
  }
}

private[python] final class WatchedRows(step: String, rows: Iterator[InternalRow])
    extends Iterator[InternalRow] {
  override def hasNext: Boolean = explain(rows.hasNext)
  override def next(): InternalRow = explain(rows.next())

  private def explain[A](body: => A): A =
    try body
    catch { case NonFatal(error) if WorkerDeath.isDeath(error) => throw WorkerDeath.describe(step, error) }
}

private[python] object WorkerDeath {
  /** Begins the message; the driver finds it in Spark's error. */
  private val Mark = "headrace worker"

  def isDeath(error: Throwable): Boolean = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(8)
    .exists(e => e.getMessage != null && e.getMessage.contains("Python worker exited unexpectedly"))

  def describe(step: String, error: Throwable): RuntimeException = {
    val rows =
      try withPositions(step, take(note(step)))
      catch { case NonFatal(_) => "" }
    new IllegalStateException(
      s"$Mark [$step] the Python worker died${if (rows.isEmpty) "" else s" on $rows"}", error)
  }

  private val Numbers = "rows (\\d+) to (\\d+) of its task".r

  /** The rows by their positions, if these are known. */
  private def withPositions(step: String, rows: String): String = (rows, RowPositions.of(step)) match {
    case (Numbers(first, last), positions) if positions != null =>
      val (begin, end) = (positions.of(first.toLong), positions.of(last.toLong))
      if (begin == null || end == null) rows else s"the rows $begin to $end"
    case _ => rows
  }

  /** The file in which the worker of this task notes its rows; `functions.batch_note` has the same name. */
  private def note(step: String): Path = {
    val directory = SparkEnv.get.blockManager.diskBlockManager.localDirs.head.getPath
    val name = step.getBytes(UTF_8).map(b => f"$b%02x").mkString
    Paths.get(directory, s"headrace-${TaskContext.get().taskAttemptId()}-$name")
  }

  private def take(file: Path): String =
    if (!Files.exists(file)) ""
    else {
      val text = new String(Files.readAllBytes(file), UTF_8)
      Files.delete(file)
      text.trim
    }
}
