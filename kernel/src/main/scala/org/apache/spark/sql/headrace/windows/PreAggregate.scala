package org.apache.spark.sql.headrace.windows

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.{OperatorPlan, PlannedNode, Time}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedOperator, StepColumns}
import org.apache.spark.sql.types.{BinaryType, LongType, TimestampType}

/**
 * Pre-aggregates the rows of one key and time slice before the shuffle. Late rows are determined by the same
 * watermark as in the operator and pass through unchanged.
 */
case class PreAggregate(step: WindowStep, child: LogicalPlan) extends PlannedNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): PreAggregate = copy(child = next)
  override def planWith(input: SparkPlan): SparkPlan =
    if (OperatorPlan.isRealTime(child)) input else PreAggregateExec(step, input)
}

object PreAggregate {
  /** Columns appended to mark pre-aggregated rows, with their values for a plain row. */
  def columns: Seq[Alias] =
    Seq(Alias(Literal(null, BinaryType), StepColumns.Buffer)(), Alias(Literal(1L), StepColumns.Rows)())
}

case class PreAggregateExec(step: WindowStep, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override protected def withNewChildInternal(next: SparkPlan): PreAggregateExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val (declared, columns) = (step, child.output)
    KeyedOperator.batchWatermark(session) match {
      case None => child.execute()
      case Some(millis) => child.execute()
          .mapPartitionsInternal(rows => new PreAggregator(rows, declared, columns, Time.watermark(millis)))
    }
  }
}

/**
 * Pre-aggregates the rows of one task. Groups are flushed when there are too many, and at the end. If the
 * first rows hardly share groups, the rest pass through.
 */
private final class PreAggregator(rows: Iterator[InternalRow], step: WindowStep, input: Seq[Attribute],
    watermark: Long)
    extends Iterator[InternalRow] {
  private val grid = WindowGrid.of(step.spec.kind).get
  // By ordinal: Spark replaces the attributes of a source in each micro-batch.
  private val keys = step.columns.keys.map(key => input(ordinal(key)))
  private val ts = ordinal(step.columns.ts)
  private val slice = AttributeReference("slice", LongType, nullable = false)()
  private val groupKeyOf = UnsafeProjection.create(keys :+ slice, input :+ slice)
  private val start = new SpecificInternalRow(Seq(LongType))
  private val joinedRow = new JoinedRow
  private val packRow = packProjection
  private val slim = slimProjection
  private val more = new GenericInternalRow(3)
  private val groups = new java.util.HashMap[UnsafeRow, SliceGroup]
  private var rowCount = 0L
  private var passThrough = false
  private var flushedRows: Iterator[InternalRow] = Iterator.empty
  private var ready: InternalRow = _

  override def hasNext: Boolean = {
    while (ready == null && advance()) {}
    ready != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = ready
    ready = null
    row
  }

  /** Processes one row; false at the end. */
  private def advance(): Boolean =
    if (flushedRows.hasNext) {
      ready = flushedRows.next()
      true
    } else if (rows.hasNext) {
      val row = rows.next()
      if (!neverLate(row)) ready = row else if (passThrough) ready = slim(row) else fold(row)
      true
    } else {
      flushedRows = flush()
      flushedRows.hasNext
    }

  /** True if a row cannot be late; a row that may go to `late` must stay complete. */
  private def neverLate(row: InternalRow): Boolean = !row.isNullAt(ts) && {
    val time = row.getLong(ts)
    val end = grid.lastEnd(time)
    time >= 0 && watermark < Time.plus(end, if (end >= Time.End) 0 else step.spec.lateness)
  }

  private def fold(row: InternalRow): Unit = {
    val time = row.getLong(ts)
    start.setLong(0, grid.sliceOf(time))
    val groupKey = groupKeyOf(joinedRow(row, start))
    var group = groups.get(groupKey)
    if (group == null) {
      group = new SliceGroup(step.aggregates.create())
      groups.put(groupKey.copy(), group)
    }
    step.aggregates.update(group.buffer, row)
    group.rows += 1
    group.newest = math.max(group.newest, time)
    rowCount += 1
    passThrough = rowCount == PreAggregator.TrialRows && groups.size > PreAggregator.TrialRows / 2
    if (passThrough || groups.size >= PreAggregator.MaxGroups) flushedRows = flush()
  }

  private def flush(): Iterator[InternalRow] = {
    val entries = groups.entrySet.toArray(Array.empty[java.util.Map.Entry[UnsafeRow, SliceGroup]])
    groups.clear()
    entries.iterator.map(entry => pack(entry.getKey, entry.getValue))
  }

  private def pack(groupKey: UnsafeRow, group: SliceGroup): InternalRow = {
    more.setLong(0, group.newest)
    more.update(1, step.aggregates.write(group.buffer))
    more.setLong(2, group.rows)
    packRow(joinedRow(groupKey, more))
  }

  /** Nulls the columns that only `late` would show. */
  private def slimProjection: InternalRow => InternalRow = {
    val referenced = step.aggregates.columns
    val needed = input.indices
      .map(i => i == ts || referenced(i) || keys.exists(_.exprId == input(i).exprId) || isInternal(input(i)))
    if (needed.forall(identity)) identity
    else UnsafeProjection.create(input.zip(needed).map { case (a, need) =>
        if (need) a else Literal(null, a.dataType)
      }, input)
  }

  private def ordinal(column: Attribute): Int = step.columns.input.indexWhere(_.exprId == column.exprId)

  private def isInternal(column: Attribute): Boolean = column.name == StepColumns.Buffer ||
    column.name == StepColumns.Rows

  /** Packs a group as an input row: key, newest time, and the two appended columns. */
  private def packProjection: UnsafeProjection = {
    val newest = AttributeReference("newest", TimestampType, nullable = false)()
    val buffer = AttributeReference("buffer", BinaryType, nullable = false)()
    val rows = AttributeReference("rows", LongType, nullable = false)()
    val columns = input.zipWithIndex.map { case (column, i) =>
      if (i == ts) newest
      else if (column.name == StepColumns.Buffer) buffer
      else if (column.name == StepColumns.Rows) rows
      else keys.find(_.exprId == column.exprId).getOrElse(Literal(null, column.dataType))
    }
    UnsafeProjection.create(columns, (keys :+ slice) ++ Seq(newest, buffer, rows))
  }
}

private object PreAggregator {
  /** Maximum number of groups in memory. */
  val MaxGroups: Int = 1 << 16

  /** Rows after which pass-through is decided. */
  val TrialRows: Int = 1 << 14
}

/** Aggregates of one key and slice. */
private final class SliceGroup(val buffer: InternalRow) {
  var rows: Long = 0
  var newest: Long = Long.MinValue
}
