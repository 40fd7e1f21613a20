package org.apache.spark.sql.headrace.tables

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.{OperatorPlan, PlannedNode}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.types.{BinaryType, LongType}

/** Aggregates the rows of each key within a task before the shuffle, for a running aggregate. */
case class PreAggregateKeys(step: RunningAggregateStep, child: LogicalPlan) extends PlannedNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): PreAggregateKeys = copy(child = next)
  override def planWith(input: SparkPlan): SparkPlan =
    if (OperatorPlan.isRealTime(child)) input else PreAggregateKeysExec(step, input)
}

object PreAggregateKeys {
  /** Columns appended to mark pre-aggregated rows, with their values for a plain row. */
  def columns: Seq[Alias] =
    Seq(Alias(Literal(null, BinaryType), StepColumns.Buffer)(), Alias(Literal(1L), StepColumns.Rows)())
}

case class PreAggregateKeysExec(step: RunningAggregateStep, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override protected def withNewChildInternal(next: SparkPlan): PreAggregateKeysExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val (declared, columns) = (step, child.output)
    child.execute().mapPartitionsInternal(rows => new KeyAggregator(rows, declared, columns))
  }
}

/**
 * Aggregates the rows of one task by key. Groups are flushed when there are too many, and at the end. If the
 * first rows hardly share keys, the rest pass through.
 */
private final class KeyAggregator(rows: Iterator[InternalRow], step: RunningAggregateStep,
    input: Seq[Attribute])
    extends Iterator[InternalRow] {
  // By ordinal: Spark replaces the attributes of a source in each micro-batch.
  private val keys = step.columns.keys
    .map(key => input(step.columns.input.indexWhere(_.exprId == key.exprId)))
  private val keyOf = UnsafeProjection.create(keys, input)
  private val groups = new java.util.HashMap[UnsafeRow, KeyGroup]
  private val joinedRow = new JoinedRow
  private val packRow = packProjection
  private val more = new GenericInternalRow(2)
  private var rowCount = 0L
  private var passThrough = false
  private var ready: Iterator[InternalRow] = Iterator.empty

  override def hasNext: Boolean = {
    while (!ready.hasNext && !passThrough && (rows.hasNext || !groups.isEmpty)) advance()
    ready.hasNext || rows.hasNext
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    if (ready.hasNext) ready.next() else rows.next()
  }

  /** Aggregates rows until groups are ready. */
  private def advance(): Unit = {
    while (rows.hasNext && !passThrough && groups.size < KeyAggregator.MaxGroups) fold(rows.next())
    ready = flush()
  }

  private def fold(row: InternalRow): Unit = {
    val key = keyOf(row)
    var group = groups.get(key)
    if (group == null) {
      group = new KeyGroup(step.aggregates.create())
      groups.put(key.copy(), group)
    }
    step.aggregates.update(group.buffer, row)
    group.rows += 1
    rowCount += 1
    passThrough = rowCount == KeyAggregator.TrialRows && groups.size > KeyAggregator.TrialRows / 2
  }

  private def flush(): Iterator[InternalRow] = {
    val entries = groups.entrySet.toArray(Array.empty[java.util.Map.Entry[UnsafeRow, KeyGroup]])
    groups.clear()
    entries.iterator.map { entry =>
      more.update(0, step.aggregates.write(entry.getValue.buffer))
      more.setLong(1, entry.getValue.rows)
      packRow(joinedRow(entry.getKey, more))
    }
  }

  /** Packs a group as an input row: key and the two appended columns. */
  private def packProjection: UnsafeProjection = {
    val buffer = AttributeReference("buffer", BinaryType, nullable = false)()
    val rows = AttributeReference("rows", LongType, nullable = false)()
    val columns = input.map { column =>
      if (column.name == StepColumns.Buffer) buffer
      else if (column.name == StepColumns.Rows) rows
      else keys.find(_.exprId == column.exprId).getOrElse(Literal(null, column.dataType))
    }
    UnsafeProjection.create(columns, keys ++ Seq(buffer, rows))
  }
}

private object KeyAggregator {
  /** Maximum number of groups in memory. */
  val MaxGroups: Int = 1 << 16

  /** Rows after which pass-through is decided. */
  val TrialRows: Int = 1 << 14
}

/** Aggregates of one key. */
private final class KeyGroup(val buffer: InternalRow) {
  var rows: Long = 0
}
