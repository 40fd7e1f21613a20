package org.apache.spark.sql.headrace.operators

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.{LeafExpression, Nondeterministic}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{BooleanType, DataType}
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.util.AccumulatorV2

/** One partition of one stage. A task that is retried counts the same partition again. */
final case class StagePartition(stage: Int, partition: Int)

/**
 * Counts the rows that pass a point of a batch. Counts are kept by stage and partition, so a task that runs
 * twice counts once. If several jobs compute the batch, the one that read the most rows counts: a job may
 * read a part only.
 */
final class RowCounter extends AccumulatorV2[StagePartition, java.lang.Long] {
  // Concurrent: the executor heartbeat reads it while the task counts.
  private val parts = new ConcurrentHashMap[StagePartition, Array[Long]]

  /** Starts a partition and returns the cell that counts its rows. */
  def begin(part: StagePartition): Array[Long] = {
    val cell = new Array[Long](1)
    parts.put(part, cell)
    cell
  }

  override def add(part: StagePartition): Unit = begin(part)

  override def value: java.lang.Long = {
    val byStage: Map[Int, Long] = parts.asScala.toMap.groupMapReduce(_._1.stage)(_._2(0))(_ + _)
    Long.box(byStage.values.foldLeft(0L)(math.max))
  }

  override def isZero: Boolean = parts.isEmpty
  override def copy(): RowCounter = {
    val other = new RowCounter
    other.merge(this)
    other
  }
  override def reset(): Unit = parts.clear()
  override def merge(other: AccumulatorV2[StagePartition, java.lang.Long]): Unit = parts
    .putAll(other.asInstanceOf[RowCounter].parts)
}

object RowCounter {
  /** Creates a counter that tasks update and the driver reads. */
  def create(spark: SparkSession): RowCounter = {
    val counter = new RowCounter
    spark.sparkContext.register(counter)
    counter
  }

  /** Returns a condition that holds for every row and counts it. */
  def column(counter: RowCounter): Column = ExpressionUtils.column(CountRow(counter))
}

/** True; counts each row. Non-deterministic, so that Spark evaluates it once per row, in place. */
case class CountRow(counter: RowCounter) extends LeafExpression with Nondeterministic {
  @transient private var cell: Array[Long] = _
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "count_row"

  override protected def initializeInternal(partitionIndex: Int): Unit = start(partitionIndex)

  override protected def evalInternal(input: InternalRow): Any = count()

  /** Called by generated code for each partition. */
  def start(partition: Int): Unit = {
    val stage = Option(TaskContext.get()).fold(0)(_.stageId())
    cell = counter.begin(StagePartition(stage, partition))
  }

  /** Called by generated code for each row. */
  def count(): Boolean = {
    cell(0) += 1
    true
  }

  override protected def doGenCode(context: CodegenContext, result: ExprCode): ExprCode = {
    val self = context.addReferenceObj("countRow", this, classOf[CountRow].getName)
    context.addPartitionInitializationStatement(s"$self.start(partitionIndex);")
    result.copy(code = code"boolean ${result.value} = $self.count();", isNull = FalseLiteral)
  }
}
