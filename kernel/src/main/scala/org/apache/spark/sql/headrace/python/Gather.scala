package org.apache.spark.sql.headrace.python

import org.apache.spark.JobArtifactSet
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.python.{MapInBatchEvaluatorFactory, PythonSQLMetrics}
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorPartitioning
import org.apache.spark.sql.headrace.compat.SparkApi
import org.apache.spark.sql.headrace.operators.PlannedNode
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Gathers the rows of a task into one row. Spark calls a stateful processor key by key and offers no call
 * after the last key; with one row per task the processor sees all keys of the task at once, and can pass
 * them to Python in large batches.
 */
case class Gather(step: PythonStep, keys: Seq[Attribute], child: LogicalPlan) extends PlannedNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): Gather = copy(child = next)
  override def planWith(input: SparkPlan): SparkPlan = GatherExec(step, keys, input)
}

/** The rows of a task as one row of nulls, and the function that passes rows through Python. */
final class TaskRows(width: Int, val rows: Iterator[InternalRow], val python: MapInBatchEvaluatorFactory,
    val batch: Int)
    extends GenericInternalRow(width)

case class GatherExec(step: PythonStep, keys: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode with PythonSQLMetrics {
  private val jobArtifacts = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(next: SparkPlan): GatherExec = copy(child = next)

  /** The distribution of the stateful operator above, so that no exchange comes between. */
  override def requiredChildDistribution: Seq[Distribution] =
    Seq(StatefulOperatorPartitioning.getCompatibleDistribution(keys, partitions, conf))

  private def partitions: Int = conf.getConf(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL)
    .getOrElse(conf.numShufflePartitions)

  /** By key, then in arrival order. */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] =
    Seq((keys ++ output.filter(_.name == RowPositions.Column)).map(SortOrder(_, Ascending)))

  override protected def doExecute(): RDD[InternalRow] = {
    val (width, factory, batch) = (output.length, evaluator, conf.arrowMaxRecordsPerBatch)
    child.execute().mapPartitionsInternal(rows => Iterator.single(new TaskRows(width, rows, factory, batch)))
  }

  private def evaluator: MapInBatchEvaluatorFactory = SparkApi.mapInArrow(
    step.function, PythonStep.input(output), toAttributes(step.results), conf, pythonMetrics, jobArtifacts)
}

/**
 * A step that runs a processor in Python.
 *
 * @param name the step's name
 * @param function the Python function, from batches of rows to batches of results
 * @param results the columns of a result: tagged rows, then the columns of [[PythonStep.Control]]
 * @param clockTime true if the clock is the watermark
 * @param eventTimers true if the rows have event time, so that keys can be due by the watermark
 * @param clockTimers true if keys can be due by the clock
 */
final case class PythonStep(name: String, function: PythonUDF, results: StructType, clockTime: Boolean,
    eventTimers: Boolean, clockTimers: Boolean)

object PythonStep {
  /** Columns that are added to the rows for Python. */
  val Added: StructType = StructType
    .fromDDL("__state binary, __visit tinyint, __watermark bigint, __clock bigint")

  /** Columns that follow the tagged rows of a result. */
  val Control: StructType = StructType
    .fromDDL("__state binary, __changed boolean, __event_due bigint, __clock_due bigint, __buffered bigint")

  /** Values of `__visit`. */
  val SameKey: Byte = 0
  val NewKey: Byte = 1
  val KeyWithoutRow: Byte = 2

  /** Tag of late rows, which only steps with an order of their own emit. */
  val Late: UTF8String = UTF8String.fromString("late")

  /** Tag of a result that ends the visit of a key. */
  val Visited: UTF8String = UTF8String.fromString("visited")

  /** The columns that Python gets: all but the position. */
  def input(columns: Seq[Attribute]): StructType = StructType(columns.filter(_.name != RowPositions.Column)
    .map(c => Added.fields.head.copy(name = c.name, dataType = c.dataType, nullable = true)) ++ Added.fields)
}
