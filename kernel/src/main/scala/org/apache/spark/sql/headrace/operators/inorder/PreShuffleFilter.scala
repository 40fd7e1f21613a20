package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.keyed.KeyedOperator
import org.apache.spark.sql.headrace.operators.{Counts, OperatorPlan, PlannedNode, Time}

/**
 * Drops, before the shuffle, rows that cannot affect a step, and counts them as processed. Late rows are
 * determined by the same watermark as in the operator and pass through.
 *
 * @param conditions boolean columns, one of which is true for every relevant row; if empty, the step itself
 *   decides
 */
case class PreShuffleFilter(step: InOrderStep, conditions: Seq[Attribute], ts: Attribute, counts: Counts,
    child: LogicalPlan)
    extends PlannedNode {
  override def output: Seq[Attribute] = child.output
  // `step.matters` reads all columns by ordinal.
  override lazy val references: AttributeSet =
    AttributeSet(if (conditions.isEmpty) step.columns.input else conditions :+ ts)
  override protected def withNewChildInternal(next: LogicalPlan): PreShuffleFilter = copy(child = next)

  /** In real-time mode the watermark advances during a batch, and Spark accepts no custom operator. */
  override def planWith(input: SparkPlan): SparkPlan =
    if (OperatorPlan.isRealTime(child)) input else PreShuffleFilterExec(step, conditions, ts, counts, input)
}

case class PreShuffleFilterExec(step: InOrderStep, conditions: Seq[Attribute], ts: Attribute, counts: Counts,
    child: SparkPlan)
    extends UnaryExecNode with CodegenSupport {
  /** Generated code cannot call `step.matters`. */
  override def supportCodegen: Boolean = conditions.nonEmpty && super.supportCodegen
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(next: SparkPlan): PreShuffleFilterExec = copy(child = next)
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override def usedInputs: AttributeSet = AttributeSet(conditions :+ ts)
  override protected def doProduce(context: CodegenContext): String = child.asInstanceOf[CodegenSupport]
    .produce(context, this)

  override def doConsume(context: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val dropped = context
      .addReferenceObj("sifted", new FilterCounts(counts, minTime), classOf[FilterCounts].getName)
    context.addPartitionInitializationStatement(s"$dropped.begin(partitionIndex);")
    def value(column: Attribute): ExprCode = input(child.output.indexWhere(_.exprId == column.exprId))
    val flags = conditions.map(value)
    val matters = flags.map(c => s"(!${c.isNull} && ${c.value})").mkString(" || ")
    val time = value(ts)
    s"""
       |do {
       |  if (!($matters) && !${time.isNull} && $dropped.drop(${time.value})) continue;
       |  ${consume(context, input)}
       |} while (false);
     """.stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val columns = child.output
    val (flags, at) = (conditions.map(ordinal(columns, _)).toArray, ordinal(columns, ts))
    val (dropped, declaredStep) = (new FilterCounts(counts, minTime), step)
    // `step.matters` needs its columns in their original order.
    val keepAll = flags.isEmpty && columns.map(_.exprId) != step.columns.input.map(_.exprId)
    child.execute().mapPartitionsWithIndexInternal { (number, rows) =>
      dropped.begin(number)
      def matters(row: InternalRow): Boolean =
        if (flags.isEmpty) keepAll || declaredStep.matters(row)
        else flags.exists(c => !row.isNullAt(c) && row.getBoolean(c))
      rows.filterNot(row => !matters(row) && !row.isNullAt(at) && dropped.drop(row.getLong(at)))
    }
  }

  /** Rows at or after this time are not late. Long.MaxValue keeps all rows. */
  private def minTime: Long =
    if (step.arrival || step.clockTime) 0L
    else KeyedOperator.batchWatermark(session).fold(Long.MaxValue)(w => math.max(0L, Time.watermark(w)))

  private def ordinal(columns: Seq[Attribute], of: Attribute): Int = columns.indexWhere(_.exprId == of.exprId)
}

/** Counts the dropped rows of one task. */
final class FilterCounts(counts: Counts, minTime: Long) extends Serializable {
  @transient private var own: Array[Long] = _

  /** Called by generated code at task start. */
  def begin(number: Int): Unit = own = counts.newPartition(-1 - number)

  /** Counts a row and returns true if it may be dropped. Called by generated code. */
  def drop(time: Long): Boolean = time >= minTime && {
    own(Counts.Rows) += 1
    own(Counts.Processed) += 1
    true
  }
}
