package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.headrace.compat.DueKeys
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TimeMode}
import org.apache.spark.util.NextIterator

/**
 * State of one key of an in-order step: slot 0 holds the key's state and its newest buffered rows,
 * other slots hold older rows. A key has at most one timer and stores its time.
 */
final class KeyStore(handle: StatefulProcessorHandle, store: StateStore, wakes: TimerIndex)
    extends RowStore(handle, store, null, null, KeyStore.Name) {
  override def setTimer(millis: Long): Unit = wakes.set(slots.key, millis)
  override def cancelTimer(millis: Long): Unit = wakes.remove(slots.key, millis)
}

object KeyStore {
  /** Name of the map state variable. */
  val Name = "matches"
}

/**
 * Timers by time only, in place of Spark's. A key cancels its old timer when it sets a new one, so
 * no index by key is needed.
 *
 * @param width number of key columns
 */
final class TimerIndex(store: StateStore, time: TimeMode, width: Int) extends DueKeys {
  private val timers = new TimerRows(store, time)
  // Lower bound of the next timer; real-time mode polls after every row.
  private var nextTimer = Long.MinValue

  def set(key: UnsafeRow, millis: Long): Unit = {
    nextTimer = math.min(nextTimer, millis)
    timers.setByTime(key, millis)
  }

  def remove(key: UnsafeRow, millis: Long): Unit = timers.removeByTime(key, millis)

  override def expired(until: Long): Iterator[(Any, Long)] =
    if (until < nextTimer) Iterator.empty
    else {
      nextTimer = Long.MaxValue
      expiredTimers(until)
    }

  /** Iterates expired timers; each is removed before its key is processed. */
  private def expiredTimers(until: Long): Iterator[(Any, Long)] = new NextIterator[(Any, Long)] {
    private val scan = timers.scan()

    override protected def getNext(): (Any, Long) = {
      val timer = if (scan.hasNext) scan.next().key else null
      if (timer == null || timer.getLong(0) > until) {
        finished = true
        if (timer != null) nextTimer = math.min(nextTimer, timer.getLong(0))
        null
      } else {
        val own = timer.copy()
        val key = own.getStruct(1, width)
        timers.removeByTime(key, own.getLong(0))
        (key, own.getLong(0))
      }
    }

    override protected def close(): Unit = scan.close()
  }
}
