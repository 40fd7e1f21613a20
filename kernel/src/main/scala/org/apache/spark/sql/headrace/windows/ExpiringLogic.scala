package org.apache.spark.sql.headrace.windows

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now, Time}

/**
 * A key's state for as long as rows come for it: when the watermark is `ttl` past the last one, all of it is dropped,
 * and what no pane has shown is counted as forgotten. For windows that have no end of their own.
 *
 * The watermark acts first, as everywhere: what it completes fires before the key is forgotten, and at the end of the input
 * all windows close. A row that comes after that finds a key without a past.
 */
final class ExpiringLogic(inner: WindowLogic, panes: Panes, ttl: Long) extends WindowLogic {
  private val spec = panes.spec
  private val codec = new OrderedCodec(panes)

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit = {
    var age = KeyAge.read(store.age)
    if (over(age, now)) {
      inner.onTimer(key, store, Time.floor(if (spec.byClock) now.clock else now.watermark), now, out)
      forget(store)
      age = KeyAge.None
    }
    var touched = math.max(age.touched, now.watermark)
    inner.onRows(key, store, events.map { event =>
      event.time.foreach(time => touched = math.max(touched, time))
      event
    }, now, out)
    keep(store, KeyAge(touched, age.wake), now, panes.unvisited(now))
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit = {
    val stored = store.age
    if (stored != null) { // else a timer that outlived its key
      inner.onTimer(key, store, due, now, out)
      val age = KeyAge.read(stored)
      if (over(age, now)) forget(store)
      else keep(store, if (age.wake <= due) age.copy(wake = Long.MaxValue) else age, now, due)
    }
  }

  private def over(age: KeyAge, now: Now): Boolean =
    age.touched != Time.None && !now.ended && Time.plus(age.touched, ttl) <= now.watermark

  private def forget(store: SlotStore): Unit = {
    val open = spec.kind match {
      case GlobalWindow => store.all.map { case (_, bytes) => panes.read(bytes) }.toVector
      case _ => codec.read(store.get(0)).open.toVector
    }
    open.foreach { cell =>
      panes.counts.add(Counts.Forgotten, cell.fresh)
      panes.counts.add(Counts.Settled, cell.rows - cell.fresh)
      panes.counts.add(Counts.Expired, 1)
    }
    store.clear()
  }

  /** Sees to it that a timer comes when the key may be forgotten; `visited` is the millisecond of the one that came. */
  private def keep(store: SlotStore, age: KeyAge, now: Now, visited: Long): Unit = {
    val at =
      if (!spec.byClock || spec.clockTime) Time.millis(Time.plus(age.touched, ttl))
      else if (spec.eager) visited - 1
      else Time.millis(Time.plus(now.clock, math.min(spec.trigger.period, ttl)))
    if (age.touched != Time.None && at < age.wake) {
      store.setTimer(at)
      store.age = KeyAge.write(KeyAge(age.touched, at))
    } else store.age = KeyAge.write(age)
  }
}

/** When rows last came for a key, by the watermark or their own time if that is ahead; and when its timer comes. */
final case class KeyAge(touched: Long, wake: Long)

object KeyAge {
  val None: KeyAge = KeyAge(Time.None, Long.MaxValue)

  def read(bytes: Array[Byte]): KeyAge = if (bytes == null) None else {
    val in = ByteBuffer.wrap(bytes)
    KeyAge(in.getLong(), in.getLong())
  }

  def write(age: KeyAge): Array[Byte] = ByteBuffer.allocate(16).putLong(age.touched).putLong(age.wake).array
}
