package org.apache.spark.sql.headrace.lookups

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic, UnaryExpression}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.headrace.operators.Counts
import org.apache.spark.sql.types.{BooleanType, DataType}

/**
 * Passes a condition on and counts the rows for which it is true and false: rows of a lookup with and without
 * a match.
 *
 * Non-deterministic because it counts: Spark then evaluates it once per row, in place. Counts are kept by
 * epoch and partition, so a task or an epoch that runs again replaces its counts.
 */
case class CountMatches(child: Expression, counts: Counts) extends UnaryExpression with Nondeterministic {
  @transient private var own: Array[Long] = _

  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "count_matches"
  override protected def initializeInternal(partitionIndex: Int): Unit = begin(partitionIndex)
  override protected def evalInternal(input: InternalRow): Any = count(child.eval(input) == true)

  /** Starts a task. Called by generated code. */
  def begin(partition: Int): Unit = own = counts.newPartition(partition)

  /** Counts a row and returns the condition. Called by generated code. */
  def count(matched: Boolean): Boolean = {
    own(Counts.Rows) += 1
    own(if (matched) Counts.Processed else Counts.Unmatched) += 1
    matched
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("matches", this, classOf[CountMatches].getName)
    ctx.addPartitionInitializationStatement(s"$self.begin(partitionIndex);")
    val condition = child.genCode(ctx)
    ev.copy(
      code = code"""
      ${condition.code}
      boolean ${ev.value} = $self.count(!${condition.isNull} && ${condition.value});""",
      isNull = org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral)
  }

  override protected def withNewChildInternal(child: Expression): CountMatches = copy(child = child)
}

object CountMatches {
  /** The column that counts a condition. Called from Python. */
  def column(condition: Column, counts: Counts): Column = ExpressionUtils
    .column(CountMatches(ExpressionUtils.expression(condition), counts))
}
