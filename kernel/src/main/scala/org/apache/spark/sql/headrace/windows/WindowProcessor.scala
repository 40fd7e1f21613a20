package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, StatefulProcessorHandleImpl}
import org.apache.spark.sql.headrace.compat.HandleInternals
import org.apache.spark.sql.headrace.operators.state.{DueStore, RowStore, TimerRows}
import org.apache.spark.sql.headrace.operators.{Counts, Now, Time}
import org.apache.spark.sql.streaming._

/**
 * Runs a step's per-key logic on Spark's state: one entry for each key and open window.
 *
 * @param encoder of keys as rows, as Spark knows them
 */
final class WindowProcessor(val step: WindowStep, val encoder: ExpressionEncoder[Any], counts: Counts)
    extends StatefulProcessor[InternalRow, InternalRow, InternalRow] {
  @transient private var store: RowStore = _
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new WindowRows(step.layout, step.spec.kind)

  override def init(output: OutputMode, time: TimeMode): Unit = {
    counts.begin(getHandle)
    getHandle match {
      case driver: DriverStatefulProcessorHandleImpl =>
        declare(driver)
        if (step.visitsByTime) DueStore.declare(driver, encoder.schema)
      case task: StatefulProcessorHandleImpl if step.visitsByTime =>
        val due = DueStore.open(task, HandleInternals.store(task), encoder.schema)
        HandleInternals.setTimers(task, due)
        store = due
      case task: StatefulProcessorHandleImpl =>
        val state = HandleInternals.store(task)
        HandleInternals.makeTimers(task)
        store = new RowStore(task, state, declare(task), new TimerRows(state, time))
    }
  }

  override def handleInputRows(
      key: InternalRow, rows: Iterator[InternalRow], times: TimerValues): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.onRows(own(key), store, step.events(rows), now(times), out)
    out.take()
  }

  override def handleExpiredTimer(
      key: InternalRow, times: TimerValues, timer: ExpiredTimerInfo): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    logic.onTimer(own(key), store, timer.getExpiryTimeInMs(), now(times), out)
    out.take()
  }

  private def declare(handle: StatefulProcessorHandle): ValueState[Array[Byte]] = {
    handle.getMapState(RowStore.Name, Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE)
    if (step.spec.ttl > 0) handle.getValueState("age", Encoders.BINARY, TTLConfig.NONE) else null
  }

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def own(key: InternalRow): InternalRow = if (step.keys.isEmpty) InternalRow.empty else key

  private def now(times: TimerValues): Now = {
    val clock = Time.micros(times.getCurrentProcessingTimeInMs())
    val watermark = Time.watermark(times.getCurrentWatermarkInMs())
    Now(if (step.spec.clockTime) math.max(clock, watermark) else watermark, clock)
  }
}
