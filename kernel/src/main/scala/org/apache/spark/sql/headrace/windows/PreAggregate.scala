package org.apache.spark.sql.headrace.windows

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.classic.Strategy
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.{BatchWatermark, OperatorPlan, Time}
import org.apache.spark.sql.types.{BinaryType, LongType, TimestampType}

/**
 * WindowRows of one key and slice of time, made one before they are sent to the key's task. Which rows are too late is decided
 * by the same watermark as in the task, so that those go through as they are and can be given out.
 */
case class PreAggregate(step: WindowStep, keys: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): PreAggregate = copy(child = next)
}

object PreAggregate {
  /** The columns that tell rows from combined ones, behind all others. */
  val Buffer = "__combined"
  val Rows = "__rows"

  /** Columns for `PreAggregate` behind those of a plan: a row is one row. */
  def columns: Seq[NamedExpression] = Seq(Alias(Literal(null, BinaryType), Buffer)(), Alias(Literal(1L), Rows)())

  /** How Spark plans it. */
  object Planned extends Strategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case c: PreAggregate if OperatorPlan.isRealTime(c.child) => planLater(c.child) :: Nil
      case c: PreAggregate => PreAggregateExec(c.step, c.keys, planLater(c.child)) :: Nil
      case _ => Nil
    }
  }
}

case class PreAggregateExec(step: WindowStep, keys: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output.map(_.withNullability(true))
  override protected def withNewChildInternal(next: SparkPlan): PreAggregateExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val (declared, by, columns) = (step, keys, child.output)
    BatchWatermark.watermark(session, _.isInstanceOf[WindowProcessor]) match {
      case None => child.execute()
      case Some(millis) =>
        child.execute().mapPartitionsInternal(rows => new PreAggregator(rows, declared, by, columns, Time.watermark(millis)))
    }
  }
}

/**
 * The rows of one task, combined. WindowRows that go through as they are come at once; the others when there are too many
 * groups, or no more rows. Where the first rows show that they hardly fall together, the rest go through one by one.
 */
private final class PreAggregator(
    rows: Iterator[InternalRow], step: WindowStep, keys: Seq[Attribute], input: Seq[Attribute], watermark: Long)
    extends Iterator[InternalRow] {
  private val grid = WindowGrid.of(step.spec.kind).get
  private val ts = step.layout.ts
  private val slice = AttributeReference("slice", LongType, nullable = false)()
  private val nameOf = UnsafeProjection.create(keys :+ slice, input :+ slice)
  private val start = new SpecificInternalRow(Seq(LongType))
  private val whole = new JoinedRow
  private val packed = packing
  private val slim = slimming
  private val more = new GenericInternalRow(3)
  private val groups = new java.util.HashMap[UnsafeRow, SliceGroup]
  private var folded = 0L
  private var passing = false
  private var full: Iterator[InternalRow] = Iterator.empty
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

  /** One row further; false at the end. */
  private def advance(): Boolean =
    if (full.hasNext) {
      ready = full.next()
      true
    } else if (rows.hasNext) {
      val row = rows.next()
      if (!joins(row)) ready = row
      else if (passing) ready = slim(row)
      else fold(row)
      true
    } else {
      full = flushed()
      full.hasNext
    }

  /** Whether a row is sure to be taken into its windows: one that may go to `late` has to stay whole. */
  private def joins(row: InternalRow): Boolean = !row.isNullAt(ts) && {
    val time = row.getLong(ts)
    val end = grid.end(grid.last(time))
    time >= 0 && watermark < Time.plus(end, if (end >= Time.End) 0 else step.spec.lateness)
  }

  private def fold(row: InternalRow): Unit = {
    val time = row.getLong(ts)
    start.setLong(0, grid.sliceOf(time))
    val name = nameOf(whole(row, start))
    var group = groups.get(name)
    if (group == null) {
      group = new SliceGroup(step.aggregates.create())
      groups.put(name.copy(), group)
    }
    step.aggregates.update(group.buffer, row)
    group.rows += 1
    group.newest = math.max(group.newest, time)
    folded += 1
    passing = folded == PreAggregator.Trial && groups.size > PreAggregator.Trial / 2
    if (passing || groups.size >= PreAggregator.Groups) full = flushed()
  }

  private def flushed(): Iterator[InternalRow] = {
    val gathered = groups.entrySet.toArray(Array.empty[java.util.Map.Entry[UnsafeRow, SliceGroup]])
    groups.clear()
    gathered.iterator.map(entry => pack(entry.getKey, entry.getValue))
  }

  private def pack(name: UnsafeRow, group: SliceGroup): InternalRow = {
    more.setLong(0, group.newest)
    more.update(1, step.aggregates.write(group.buffer))
    more.setLong(2, group.rows)
    packed(whole(name, more))
  }

  /** A row that will be folded, without the columns that only `late` would show. */
  private def slimming: InternalRow => InternalRow = {
    val looked = step.aggregates.columns
    val needed = input.indices.map(i => i == ts || looked(i) || keys.exists(_.exprId == input(i).exprId) || ours(input(i)))
    if (needed.forall(identity)) identity
    else UnsafeProjection.create(input.zip(needed).map { case (a, need) => if (need) a else Literal(null, a.dataType) }, input)
  }

  private def ours(column: Attribute): Boolean = column.name == PreAggregate.Buffer || column.name == PreAggregate.Rows

  /** A group as a row of the input: its key, the newest row's time, and the rest in the two columns of `PreAggregate`. */
  private def packing: UnsafeProjection = {
    val newest = AttributeReference("newest", TimestampType, nullable = false)()
    val buffer = AttributeReference("buffer", BinaryType, nullable = false)()
    val rows = AttributeReference("rows", LongType, nullable = false)()
    val columns = input.zipWithIndex.map { case (column, i) =>
      if (i == ts) newest
      else if (column.name == PreAggregate.Buffer) buffer
      else if (column.name == PreAggregate.Rows) rows
      else keys.find(_.exprId == column.exprId).getOrElse(Literal(null, column.dataType))
    }
    UnsafeProjection.create(columns, (keys :+ slice) ++ Seq(newest, buffer, rows))
  }
}

private object PreAggregator {
  /** So many groups are held at most. */
  val Groups: Int = 1 << 16
  /** So many rows are looked at before it is decided whether combining is worth it. */
  val Trial: Int = 1 << 14
}

/** WindowRows of one key and slice. */
private final class SliceGroup(val buffer: InternalRow) {
  var rows: Long = 0
  var newest: Long = Long.MinValue
}
