package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.{Dataset, Encoders, Row, classic}
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types.{StructField, StructType}

/** Decodes the state of Spark's own aggregation by evaluating its buffers. */
final class NativeAggregateView(aggregates: Aggregates, columns: StructType) {
  /** Maps the state's `key` and `value` to `key` and `values`. */
  def values(entries: Dataset[Row]): Dataset[Row] = {
    val Seq(key, value) = Seq("key", "value").map(entries.schema(_).dataType.asInstanceOf[StructType])
    val (functions, shape) = (aggregates, columns)
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val toUnsafe = UnsafeProjection.create(value)
      val Seq(toKey, toValue) = Seq(key, value).map(CatalystTypeConverters.createToCatalystConverter)
      val toScala = CatalystTypeConverters.createToScalaConverter(shape)
      rows.map { row =>
        val buffer = functions
          .read(toUnsafe(toValue(row.getStruct(1)).asInstanceOf[InternalRow]).copy().getBytes)
        Row(row.getStruct(0),
          toScala(functions.result(buffer, toKey(row.getStruct(0)).asInstanceOf[InternalRow])))
      }
    }(Encoders.row(new StructType().add("key", key).add("values", columns)))
  }

  /** True if the state's values are buffers of this aggregation. */
  def fits(value: StructType): Boolean = value.map(_.dataType) == aggregates.buffer
}

object NativeAggregateView {
  /** Creates a view for the aggregation in a query's plan; null if there is none or its keys are computed. */
  def of(query: Dataset[Row]): NativeAggregateView = {
    val dataset = query.asInstanceOf[classic.Dataset[Row]]
    // The optimised plan determines the buffers. The optimiser is called directly because a dataset refuses
    // to plan a stream that does not run.
    dataset.sparkSession.sessionState.optimizer.execute(dataset.queryExecution.analyzed.clone())
      .collectFirst {
        case a: Aggregate if a.groupingExpressions.forall(_.isInstanceOf[Attribute]) => view(a)
      }.orNull
  }

  private def view(plan: Aggregate): NativeAggregateView = {
    val aggregateColumns = plan.aggregateExpressions.filter(_.exists(_.isInstanceOf[AggregateExpression]))
    // Spark plans one function for all equal ones.
    val functions = mutable.LinkedHashMap.empty[Expression, AggregateExpression]
    val results = aggregateColumns.map {
      case Alias(child, _) => child
      case other => other
    }.map(_.transform { case e: AggregateExpression => functions.getOrElseUpdate(e.canonicalized, e) })
    val keys = plan.groupingExpressions.map(_.asInstanceOf[Attribute])
    new NativeAggregateView(
      new Aggregates(functions.values.toSeq, results, plan.child.output, keys),
      StructType(aggregateColumns.zip(results).map { case (column, of) =>
        StructField(column.name, of.dataType)
      }))
  }
}
