package org.apache.spark.sql.headrace.tables

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.headrace.operators.keyed.{KeyedOperator, StateView}
import org.apache.spark.sql.types.{StructField, StructType}

/** Decodes the state of a running aggregate: the present row of each key. */
final class RunningAggregateView(step: RunningAggregateStep) extends StateView(step) {
  private val valueType = StructType(step.names.zip(step.aggregates.types).map { case (name, kind) =>
    StructField(name, kind)
  })
  @transient private lazy val toValues = createToScalaConverter(valueType)

  /** Maps the entries of the state variable to `key` and `values`. */
  def values(entries: Dataset[Row]): Dataset[Row] = {
    val shape = new StructType().add("key", keyType).add("values", valueType)
    decode(entries, shape)((key, _, bytes) =>
      Seq(Row(key, toValues(RunningGroup.lastRow(bytes, valueType.size)))))
  }
}

object RunningAggregateView {
  /** Creates a view for the running aggregate in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): RunningAggregateView = KeyedOperator.stepOf(query)
    .collect { case step: RunningAggregateStep => new RunningAggregateView(step) }.orNull
}
