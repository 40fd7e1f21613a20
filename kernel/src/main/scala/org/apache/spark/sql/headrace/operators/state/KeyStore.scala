package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.headrace.compat.DueKeys
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TimeMode}
import org.apache.spark.util.NextIterator

/**
 * One key's part of the state of a step over rows in order: slot 0 has what the key remembers and the newest rows that
 * wait, other slots have older ones. A key has at most one timer, which it knows.
 */
final class KeyStore(handle: StatefulProcessorHandle, store: StateStore, wakes: TimerIndex)
    extends RowStore(handle, store, null, null, KeyStore.Name) {
  override def wake(millis: Long): Unit = wakes.set(slots.key, millis)
  override def cancel(millis: Long): Unit = wakes.remove(slots.key, millis)
}

object KeyStore {
  /** The name of the map variable. */
  val Name = "matches"
}

/**
 * When keys are to be visited, in the place of Spark's timers, of which only the list by time is kept: a key that sets
 * its timer anew takes the old one out, so no list by key is needed.
 *
 * @param width how many columns a key has
 */
final class TimerIndex(store: StateStore, time: TimeMode, width: Int) extends DueKeys {
  private val timers = new TimerRows(store, time)
  // Nobody is to be visited before; in real time it is asked after every row.
  private var upcoming = Long.MinValue

  def set(key: UnsafeRow, millis: Long): Unit = {
    upcoming = math.min(upcoming, millis)
    timers.setByTime(key, millis)
  }

  def remove(key: UnsafeRow, millis: Long): Unit = timers.removeByTime(key, millis)

  override def expired(until: Long): Iterator[(Any, Long)] =
    if (until < upcoming) Iterator.empty
    else {
      upcoming = Long.MaxValue
      scanned(until)
    }

  /** The keys whose time has come, each taken out before it is visited. */
  private def scanned(until: Long): Iterator[(Any, Long)] = new NextIterator[(Any, Long)] {
    private val scan = timers.scan()

    override protected def getNext(): (Any, Long) = {
      val timer = if (scan.hasNext) scan.next().key else null
      if (timer == null || timer.getLong(0) > until) {
        finished = true
        if (timer != null) upcoming = math.min(upcoming, timer.getLong(0))
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
