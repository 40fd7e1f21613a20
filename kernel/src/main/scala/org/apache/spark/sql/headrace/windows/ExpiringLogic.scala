package org.apache.spark.sql.headrace.windows

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now, Time}

/**
 * Drops the state of a key when the watermark is `ttl` past its last row; rows that no pane has emitted are
 * counted as expired. For windows without an end of their own.
 *
 * The watermark is applied first: completed windows fire before the key expires, and at the end of input all
 * windows close.
 */
final class ExpiringLogic(inner: KeyedLogic, panes: Panes, ttl: Long) extends KeyedLogic {
  private val spec = panes.spec
  private val codec = new OrderedCodec(panes)

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    var age = KeyAge.read(store.age)
    if (isExpired(age, now)) {
      inner.onTimer(key, store, Time.floor(if (spec.byClock) now.clock else now.watermark), now, out)
      dropState(store)
      age = KeyAge.None
    }
    var touched = math.max(age.touched, now.watermark)
    inner.onRows(key, store,
      events.map { event =>
        event.time.foreach(time => touched = math.max(touched, time))
        event
      }, now, out)
    save(store, KeyAge(touched, age.timerAt), now, panes.outsideTimer(now))
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val stored = store.age
    if (stored != null) { // null: the key has already expired
      inner.onTimer(key, store, due, now, out)
      val age = KeyAge.read(stored)
      if (isExpired(age, now)) dropState(store)
      else save(store, if (age.timerAt <= due) age.copy(timerAt = Long.MaxValue) else age, now, due)
    }
  }

  private def isExpired(age: KeyAge, now: Now): Boolean = age.touched != Time.None && !now.ended &&
    Time.plus(age.touched, ttl) <= now.watermark

  private def dropState(store: SlotStore): Unit = {
    val open = spec.kind match {
      case GlobalWindow => store.all.map { case (_, bytes) => panes.read(bytes) }.toVector
      case _ => codec.read(store.get(0)).open.toVector
    }
    open.foreach { window =>
      panes.counts.add(Counts.Expired, window.unfired)
      panes.counts.add(Counts.Emitted, window.rows - window.unfired)
      panes.counts.add(Counts.OpenWindows, -1)
    }
    store.clear()
  }

  /** Sets a timer for the key's expiry; `visited` is the millisecond of the current timer. */
  private def save(store: SlotStore, age: KeyAge, now: Now, visited: Long): Unit = {
    val at =
      if (!spec.byClock || spec.clockTime) Time.millis(Time.plus(age.touched, ttl))
      else if (spec.eager) visited - 1
      else Time.millis(Time.plus(now.clock, math.min(spec.trigger.period, ttl)))
    if (age.touched != Time.None && at < age.timerAt) {
      store.setTimer(at)
      store.age = KeyAge.write(KeyAge(age.touched, at))
    } else store.age = KeyAge.write(age)
  }
}

/** Time of a key's last row (watermark or event time, whichever is later) and of its timer. */
final case class KeyAge(touched: Long, timerAt: Long)

object KeyAge {
  val None: KeyAge = KeyAge(Time.None, Long.MaxValue)

  def read(bytes: Array[Byte]): KeyAge =
    if (bytes == null) None
    else {
      val in = ByteBuffer.wrap(bytes)
      KeyAge(in.getLong(), in.getLong())
    }

  def write(age: KeyAge): Array[Byte] = ByteBuffer.allocate(16).putLong(age.touched).putLong(age.timerAt)
    .array
}
