package org.apache.spark.sql.headrace.analytics

import java.util.{List => JavaList}

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, Nondeterministic}
import org.apache.spark.sql.classic
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.headrace.operators.{Counts, JsonRowWriter}
import org.apache.spark.sql.headrace.sampling.RowSampler
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}

/**
 * Passes the condition of a rule on, counts the rows that satisfy and violate it as `CountMatches` does, and
 * samples those that violate it. `right` is the row as a struct, which is only computed for a sample.
 */
case class CheckRule(left: Expression, right: Expression, counts: Counts, sampler: RowSampler)
    extends BinaryExpression with Nondeterministic {
  @transient private var own: Array[Long] = _
  @transient private lazy val json = new JsonRowWriter(new ObjectMapper)

  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "check_rule"
  override protected def initializeInternal(partitionIndex: Int): Unit = begin(partitionIndex)

  override protected def evalInternal(input: InternalRow): Any = {
    val satisfied = count(left.eval(input) == true)
    if (!satisfied && wantsRow) sample(right.eval(input).asInstanceOf[InternalRow])
    satisfied
  }

  /** Starts a task. Called by generated code. */
  def begin(partition: Int): Unit = own = counts.newPartition(partition)

  /** Counts a row and returns the condition. Called by generated code. */
  def count(satisfied: Boolean): Boolean = {
    own(Counts.Rows) += 1
    own(if (satisfied) Counts.Processed else Counts.Unmatched) += 1
    satisfied
  }

  /** True until the task has enough rows. Called by generated code. */
  def wantsRow: Boolean = !sampler.isFull

  /** Adds a row to the sample; one that cannot be written must not fail the run. Called by generated code. */
  def sample(row: InternalRow): Unit =
    try {
      val text = json.text(row, right.dataType.asInstanceOf[StructType])
      sampler.add(if (text.length <= sampler.length) text else text.take(sampler.length) + "…")
    } catch { case NonFatal(_) => () }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("rule", this, classOf[CheckRule].getName)
    ctx.addPartitionInitializationStatement(s"$self.begin(partitionIndex);")
    val (condition, row) = (left.genCode(ctx), right.genCode(ctx))
    ev.copy(code = code"""
      ${condition.code}
      boolean ${ev.value} = $self.count(!${condition.isNull} && ${condition.value});
      if (!${ev.value} && $self.wantsRow()) {
        ${row.code}
        $self.sample(${row.value});
      }""", isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): CheckRule =
    copy(left = newLeft, right = newRight)
}

object CheckRule {
  /** Returns a sampler of at most `most` rows of a task. Called from Python. */
  def newSampler(spark: SparkSession, most: Int, length: Int): RowSampler = {
    val sampler = new RowSampler(most, length)
    spark.asInstanceOf[classic.SparkSession].sparkContext.register(sampler)
    sampler
  }

  /** Returns the rows that were sampled since the last call. Called from Python. */
  def take(sampler: RowSampler): JavaList[String] = {
    val rows = sampler.value
    sampler.reset()
    rows
  }

  /** The column that checks a condition. Called from Python. */
  def column(condition: Column, row: Column, counts: Counts, sampler: RowSampler): Column = ExpressionUtils
    .column(
      CheckRule(ExpressionUtils.expression(condition), ExpressionUtils.expression(row), counts, sampler))
}
