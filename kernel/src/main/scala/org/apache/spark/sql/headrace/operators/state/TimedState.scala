package org.apache.spark.sql.headrace.operators.state

/** State with one timer, which is stored with it. */
trait TimedState {

  /** Time of the timer in milliseconds of the step's time; Long.MaxValue for none. */
  var timerAt: Long = Long.MaxValue

  /** Called for each timer; `due` is its millisecond. */
  def onTimer(due: Long): Unit = if (timerAt <= due) timerAt = Long.MaxValue

  /** Sets a timer unless there is an earlier one. */
  def setTimer(at: Long, store: SlotStore): Unit = if (at < timerAt) {
    timerAt = at
    store.setTimer(at)
  }

  /** Sets a timer in place of the present one; Long.MaxValue for none. */
  def replaceTimer(at: Long, store: SlotStore): Unit = if (at != timerAt) {
    if (timerAt != Long.MaxValue) store.cancelTimer(timerAt)
    if (at != Long.MaxValue) store.setTimer(at)
    timerAt = at
  }
}
