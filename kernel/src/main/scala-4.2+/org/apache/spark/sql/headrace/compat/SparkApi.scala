package org.apache.spark.sql.headrace.compat

import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.{Attribute, PythonUDF, UnsafeRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, MapInBatchEvaluatorFactory}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreIterator, UnsafeRowPair}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Calls of Spark that differ from version to version. */
object SparkApi {
  /** Iterates the rows of a variable in the order of its keys. */
  def scan(store: StateStore, variable: String): StateStoreIterator[UnsafeRowPair] = store
    .rangeScan(None, None, variable)

  /** Removes the rows from `first`, the first one of the variable, up to but excluding `last`. */
  def deleteRange(store: StateStore, first: UnsafeRow, last: UnsafeRow, variable: String): Unit = store
    .deleteRange(first, last, variable)

  def timersUntil(handle: StatefulProcessorHandleImpl, until: Long): Iterator[(Any, Long)] = handle
    .getExpiredTimers(until, None)

  /** The name of a function that is found as the built-in ones are. */
  def builtinFunction(name: String): FunctionIdentifier = FunctionRegistry.builtinFunctionIdentifier(name)

  /** True for a call with IGNORE NULLS. */
  def ignoresNulls(f: UnresolvedFunction): Boolean = f.ignoreNulls.contains(true)

  /** Passes batches of rows through a function in Python. */
  def mapInArrow(function: PythonUDF, input: StructType, output: Seq[Attribute], conf: SQLConf,
      metrics: Map[String, SQLMetric], artifacts: Option[String]): MapInBatchEvaluatorFactory =
    new MapInBatchEvaluatorFactory(
      output, Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id)), input,
      function.dataType, conf.arrowMaxRecordsPerBatch, PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
      conf.sessionLocalTimeZone, conf.arrowUseLargeVarTypes, ArrowPythonRunner.getPythonRunnerConfMap(conf),
      metrics, artifacts, None)
}
