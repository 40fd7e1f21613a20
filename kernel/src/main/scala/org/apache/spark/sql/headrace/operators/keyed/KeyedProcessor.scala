package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, StatefulProcessorHandleImpl}
import org.apache.spark.sql.headrace.operators.{Counts, Now, Time}
import org.apache.spark.sql.headrace.operators.state.{SlotStore, StateAccess, StateLayout}
import org.apache.spark.sql.streaming._

/**
 * Base of the stateful processors: takes rows, applies a step's per-key logic to its state, and returns
 * tagged rows.
 *
 * @param encoder the encoder of keys as rows
 * @param hasKeys false if the step has no key columns and Spark's key is a constant
 * @param clockTime true if the clock is the watermark
 */
abstract class KeyedProcessor(val encoder: ExpressionEncoder[Any], hasKeys: Boolean, clockTime: Boolean,
    counts: Counts)
    extends StatefulProcessor[InternalRow, InternalRow, InternalRow] {
  @transient private var store: SlotStore = _
  @transient private var hasTime: Boolean = _
  protected def layout: StateLayout
  protected def onRows(
      key: InternalRow, store: SlotStore, rows: Iterator[InternalRow], now: Now): Iterator[InternalRow]
  protected def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now): Iterator[InternalRow]

  override def init(output: OutputMode, time: TimeMode): Unit = {
    counts.begin(getHandle)
    getHandle match {
      case driver: DriverStatefulProcessorHandleImpl => StateAccess.of(layout).declare(driver, layout)
      case task: StatefulProcessorHandleImpl =>
        hasTime = time != TimeMode.None()
        store = StateAccess.of(layout).open(task, time, layout)
    }
  }

  override def handleInputRows(
      key: InternalRow, rows: Iterator[InternalRow], times: TimerValues): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    onRows(keyRow(key), store, rows, now(times))
  }

  override def handleExpiredTimer(
      key: InternalRow, times: TimerValues, timer: ExpiredTimerInfo): Iterator[InternalRow] = {
    store.bind(key.asInstanceOf[UnsafeRow])
    onTimer(keyRow(key), store, timer.getExpiryTimeInMs(), now(times))
  }

  private def keyRow(key: InternalRow): InternalRow = if (hasKeys) key else InternalRow.empty

  private def now(times: TimerValues): Now =
    if (!hasTime) Now(Time.None, 0)
    else {
      val clock = Time.micros(times.getCurrentProcessingTimeInMs())
      val watermark = Time.watermark(times.getCurrentWatermarkInMs())
      Now(if (clockTime) math.max(clock, watermark) else watermark, clock)
    }
}
