package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.classic.Strategy
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.headrace.operators.{BatchWatermark, Counts, OperatorPlan, StatePartition, Time}

/**
 * Rows that can make no difference to a step stay behind here, before they are sent to their key's task; they are
 * counted as taken. Which rows are late is decided by the same watermark as in the task, so that those go on and can be
 * given out.
 *
 * @param conditions columns of which a row that makes a difference satisfies one; none where the step itself is asked
 */
case class PreShuffleFilter(step: InOrderStep, conditions: Seq[Attribute], ts: Attribute, counts: Counts, child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  // A step that is asked looks at all columns, in their order.
  override lazy val references: AttributeSet =
    AttributeSet(if (conditions.isEmpty) step.columns.input else conditions :+ ts)
  override protected def withNewChildInternal(next: LogicalPlan): PreShuffleFilter = copy(child = next)
}

object PreShuffleFilter {
  /** How Spark plans it. */
  object Planned extends Strategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      // In real time the watermark moves while a batch runs, and Spark takes no operator that it doesn't know.
      case s: PreShuffleFilter if OperatorPlan.inRealTime(s.child) => planLater(s.child) :: Nil
      case s: PreShuffleFilter => PreShuffleFilterExec(s.step, s.conditions, s.ts, s.counts, planLater(s.child)) :: Nil
      case _ => Nil
    }
  }
}

case class PreShuffleFilterExec(step: InOrderStep, conditions: Seq[Attribute], ts: Attribute, counts: Counts, child: SparkPlan)
    extends UnaryExecNode with CodegenSupport {
  /** Without columns that tell it, the step itself is asked, which generated code can't. */
  override def supportCodegen: Boolean = conditions.nonEmpty && super.supportCodegen
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(next: SparkPlan): PreShuffleFilterExec = copy(child = next)

  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override def usedInputs: AttributeSet = AttributeSet(conditions :+ ts)

  override protected def doProduce(context: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(context, this)

  override def doConsume(context: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val sifted = context.addReferenceObj("sifted", new FilterCounts(counts, from), classOf[FilterCounts].getName)
    context.addPartitionInitializationStatement(s"$sifted.begin(partitionIndex);")
    def value(column: Attribute): ExprCode = input(child.output.indexWhere(_.exprId == column.exprId))
    val asked = conditions.map(value)
    val matters = asked.map(c => s"(!${c.isNull} && ${c.value})").mkString(" || ")
    val time = value(ts)
    s"""
       |do {
       |  if (!($matters) && !${time.isNull} && $sifted.passes(${time.value})) continue;
       |  ${consume(context, input)}
       |} while (false);
     """.stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val columns = child.output
    val (asked, at) = (conditions.map(place(columns, _)).toArray, place(columns, ts))
    val (sifted, looking) = (new FilterCounts(counts, from), step)
    // A step that is asked must see the columns it knows, in their order.
    val blind = asked.isEmpty && columns.map(_.exprId) != step.columns.input.map(_.exprId)
    child.execute().mapPartitionsWithIndexInternal { (number, rows) =>
      sifted.begin(number)
      def matters(row: InternalRow): Boolean =
        if (asked.isEmpty) blind || looking.matters(row) else asked.exists(c => !row.isNullAt(c) && row.getBoolean(c))
      rows.filterNot(row => !matters(row) && !row.isNullAt(at) && sifted.passes(row.getLong(at)))
    }
  }

  /** From which time on a row isn't late; none where the batch's watermark isn't known, and all rows go on. */
  private def from: Long =
    if (step.arrival || step.clockTime) 0L
    else BatchWatermark.watermark(session, _.isInstanceOf[InOrderProcessor]).fold(Long.MaxValue)(w => math.max(0L, Time.watermark(w)))

  private def place(columns: Seq[Attribute], of: Attribute): Int = columns.indexWhere(_.exprId == of.exprId)
}

/** Counts the rows of one task that stay behind. */
final class FilterCounts(counts: Counts, from: Long) extends Serializable {
  @transient private var own: Array[Long] = _

  /** Called by generated code when a task begins. */
  def begin(number: Int): Unit = {
    val epoch = Option(TaskContext.get()).flatMap(task => Option(task.getLocalProperty(FilterCounts.Epoch)))
    own = counts.beside(StatePartition(epoch.fold(0L)(_.toLong), -1 - number))
  }

  /** Whether a row that makes no difference may stay behind; called by generated code. */
  def passes(time: Long): Boolean = time >= from && {
    own(Counts.Rows) += 1
    own(Counts.Folded) += 1
    true
  }
}

private object FilterCounts {
  /** Where Spark tells tasks the number of their micro-batch. */
  val Epoch = "streaming.sql.batchId"
}
