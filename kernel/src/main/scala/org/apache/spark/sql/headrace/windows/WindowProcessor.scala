package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.headrace.operators.{Counts, Now}
import org.apache.spark.sql.headrace.operators.keyed.KeyedProcessor
import org.apache.spark.sql.headrace.operators.state.{SlotStore, StateLayout}

/** Runs a windowed step on Spark's state: one entry per key and open window. */
final class WindowProcessor(val step: WindowStep, keys: ExpressionEncoder[Any], counts: Counts)
    extends KeyedProcessor(keys, step.keys.nonEmpty, step.spec.clockTime, counts) {
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new WindowRows(step.layout, step.spec.kind)
  override protected def layout: StateLayout =
    StateLayout("windows", keys, dueByTime = step.dueByTime, hasAge = step.spec.ttl > 0)

  override protected def onRows(
      key: InternalRow, store: SlotStore, rows: Iterator[InternalRow], now: Now): Iterator[InternalRow] = {
    logic.onRows(key, store, step.events(rows), now, out)
    out.take()
  }

  override protected def onTimer(
      key: InternalRow, store: SlotStore, due: Long, now: Now): Iterator[InternalRow] = {
    logic.onTimer(key, store, due, now, out)
    out.take()
  }
}
