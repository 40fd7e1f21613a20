package org.apache.spark.sql.headrace.tables

import org.apache.spark.sql.catalyst.expressions.{Alias, GreaterThan, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic
import org.apache.spark.sql.classic.ClassicConversions.castToImpl
import org.apache.spark.sql.headrace.operators.{OperatorPlan, Retractions}
import org.apache.spark.sql.{DataFrame, Dataset, Row}

/** A running aggregate over a changelog on Spark's operator, which can emit all keys every time. */
object CompleteAggregate {
  /** Returns the rows of all keys that have rows; `grouped` is a changelog, grouped by key and aggregated. */
  def apply(grouped: Dataset[Row]): DataFrame = {
    val aggregate = OperatorPlan.planOf(grouped).asInstanceOf[Aggregate]
    val input = aggregate.child.output
    val results = ReplaceExpressions(aggregate).asInstanceOf[Aggregate].aggregateExpressions
    val rewritten = results.map(result => Retractions.rewrite(Seq(result), input).head)
      .map(_.asInstanceOf[NamedExpression])
    val present = Alias(Retractions.present(Retractions.removes(input).get), Retractions.Present)()
    val all = aggregate.copy(aggregateExpressions = rewritten :+ present)
    val some: LogicalPlan =
      if (aggregate.groupingExpressions.isEmpty) all
      else Filter(GreaterThan(present.toAttribute, Literal(0L)), all)
    classic.Dataset.ofRows(castToImpl(grouped).sparkSession, Project(rewritten.map(_.toAttribute), some))
  }
}
