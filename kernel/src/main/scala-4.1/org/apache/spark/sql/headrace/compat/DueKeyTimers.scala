package org.apache.spark.sql.headrace.compat

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.TimeMode

/** Timers whose keys come from a [[DueKeys]]. */
final class DueKeyTimers(store: StateStore, time: TimeMode, keys: ExpressionEncoder[Any], dueKeys: DueKeys)
    extends TimerStateImpl(store, time, keys) {
  override def getExpiredTimers(until: Long): Iterator[(Any, Long)] = dueKeys.timersUntil(until)
  override def listTimers(): Iterator[Long] = Iterator.empty
  override def registerTimer(millis: Long): Unit = ()
  override def deleteTimer(millis: Long): Unit = ()
}
