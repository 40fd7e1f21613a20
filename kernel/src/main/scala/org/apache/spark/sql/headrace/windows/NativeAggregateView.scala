package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** The state of Spark's own aggregation with its buffers evaluated: `sum` and `count` as the average they stand for. */
final class NativeAggregateView(aggregates: Aggregates, columns: StructType) {
  /** WindowRows of `key` and `values`, from the state's `key` and `value`. */
  def values(entries: Dataset[Row]): Dataset[Row] = {
    val Seq(key, value) = Seq("key", "value").map(entries.schema(_).dataType.asInstanceOf[StructType])
    val (functions, shape) = (aggregates, columns)
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val packed = UnsafeProjection.create(value)
      val Seq(toKey, toValue) = Seq(key, value).map(CatalystTypeConverters.createToCatalystConverter)
      val shown = CatalystTypeConverters.createToScalaConverter(shape)
      rows.map { row =>
        val buffer = functions.read(packed(toValue(row.getStruct(1)).asInstanceOf[InternalRow]).copy().getBytes)
        Row(row.getStruct(0), shown(functions.result(buffer, toKey(row.getStruct(0)).asInstanceOf[InternalRow])))
      }
    }(Encoders.row(new StructType().add("key", key).add("values", columns)))
  }

  /** Whether the state's values are this aggregation's buffers. */
  def fits(value: StructType): Boolean = value.map(_.dataType) == aggregates.buffer
}

object NativeAggregateView {
  /** The view of the aggregation in a query's plan; null where there is none, or its keys are computed in it. */
  def of(query: Dataset[Row]): NativeAggregateView = {
    val dataset = query.asInstanceOf[classic.Dataset[Row]]
    // Optimised, because that decides the buffers; not by the dataset, which refuses to plan a stream that doesn't run.
    dataset.sparkSession.sessionState.optimizer.execute(dataset.queryExecution.analyzed.clone()).collectFirst {
      case a: Aggregate if a.groupingExpressions.forall(_.isInstanceOf[Attribute]) => view(a)
    }.orNull
  }

  private def view(plan: Aggregate): NativeAggregateView = {
    val named = plan.aggregateExpressions.filter(_.exists(_.isInstanceOf[AggregateExpression]))
    // One function stands for all equal ones, as Spark plans it.
    val functions = mutable.LinkedHashMap.empty[Expression, AggregateExpression]
    val results = named.map {
      case Alias(child, _) => child
      case other => other
    }.map(_.transform { case e: AggregateExpression => functions.getOrElseUpdate(e.canonicalized, e) })
    val keys = plan.groupingExpressions.map(_.asInstanceOf[Attribute])
    new NativeAggregateView(
      new Aggregates(functions.values.toSeq, results, plan.child.output, keys),
      StructType(named.zip(results).map { case (column, of) => StructField(column.name, of.dataType) }))
  }
}
