package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.MemoryStore

/** Runs a step over a batch: all rows of a key, then the end of input. */
object WindowBatch {
  def apply(frame: Dataset[Row], grouped: Dataset[Row], spec: String): Dataset[Row] = {
    val step = WindowStep(frame, grouped, spec)
    OperatorPlan.mapGroups(frame.sparkSession.asInstanceOf[SparkSession], step.keys,
      OperatorPlan.analyzed(frame), step.layout.output)(new WindowBatchRun(step))
  }
}

/** Processes all rows of one key. */
private final class WindowBatchRun(step: WindowStep) extends GroupFunction {
  @transient private lazy val logic = step.logic(Counts.local())
  @transient private lazy val out = new WindowRows(step.layout, step.spec.kind)

  override def apply(key: InternalRow, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val (store, end) = (new MemoryStore, Now(Time.End, Time.End))
    logic.onRows(key, store, step.events(rows), Now(Time.None, 0), out)
    store.due(Time.floor(Time.End)).foreach(logic.onTimer(key, store, _, end, out))
    out.take()
  }
}
