package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.Aggregate

/**
 * The keys and aggregates of an analysed `groupBy(...).agg(...)`, of which only the plan is used.
 *
 * @param names the names of the results
 * @param results the results, which process the retractions of a changelog
 */
final case class GroupedPlan(input: Seq[Attribute], keys: Seq[Attribute], names: Seq[String],
    results: Seq[Expression]) {
  def aggregates: Aggregates = Aggregates.of(results, input, keys)
}

object GroupedPlan {
  /**
   * Reads the aggregates of a frame.
   *
   * @param frame the input, with internal columns
   * @param grouped `frame` grouped by key and aggregated
   * @param retracts false if the aggregates see no rows that remove others
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], retracts: Boolean = true): GroupedPlan = {
    val input = OperatorPlan.planOf(frame).output
    val aggregate = OperatorPlan.planOf(grouped) match {
      case a: Aggregate if a.child.output.map(_.exprId) == input.map(_.exprId) => a
      case _ => throw new IllegalArgumentException(
          "expected aggregates of rows, got one that needs a step of its own (an OVER clause); " +
            "compute it after the window")
    }
    val keys = aggregate.groupingExpressions.map {
      case a: Attribute => input.find(_.exprId == a.exprId).get
      case other => throw new IllegalArgumentException(s"a key must be a column here, got ${other.sql}")
    }
    val columns = aggregate.aggregateExpressions.drop(keys.size)
    val results = ReplaceExpressions(aggregate).asInstanceOf[Aggregate].aggregateExpressions.drop(keys.size)
      .map {
        case a: Alias => a.child
        case other => other
      }.map(OperatorPlan.inlineCommonExpressions)
    rejectPython(results)
    GroupedPlan(
      input, keys, columns.map(_.name), if (retracts) Retractions.rewrite(results, input) else results)
  }

  private def rejectPython(results: Seq[Expression]): Unit = results.flatMap(_.collect { case p: PythonUDF =>
    p
  }).headOption.foreach { p =>
    throw new IllegalArgumentException(
      s"${p.name} is a Python function: the kernel runs Spark's own aggregates")
  }
}
