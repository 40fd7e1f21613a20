package org.apache.spark.sql.headrace.windows

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/**
 * Session windows over a changelog, each of which fires once. The rows of a session are kept until it closes, because
 * the removal of a row can shorten or divide it.
 */
final class ChangelogSessions(panes: Panes, gap: Long) extends KeyedLogic {
  private val counts = panes.counts
  private val layout = panes.layout
  private val codec = new TrailingCodec
  private val changes = layout.changes
  private val byTime: Comparator[TrailingRow] = (a, b) => java.lang.Long.compare(a.time, b.time)

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    close(key, state, now, out)
    val added, removals = mutable.ArrayBuffer.empty[TrailingRow]
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (event.time.isEmpty) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else {
        val entry = new TrailingRow(event.at, layout.bufferedRow(event.row).copy(), 0, null)
        if (changes.removes(entry.row)) removals += entry
        else if (entry.time >= 0 && Time.plus(entry.time, gap) > now.watermark) added += entry
        else {
          insert(state, added)
          addOld(state, entry, now, out)
        }
      }
    }
    insert(state, added)
    removals.foreach(remove(state, _, now, out)) // after the rows that they may refer to
    close(key, state, now, out)
    save(store, state, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val state = codec.read(store.get(0))
    if (state.timerAt <= due) state.timerAt = Long.MaxValue
    close(key, state, now, out)
    save(store, state, now)
  }

  private def insert(state: TrailingState, added: mutable.ArrayBuffer[TrailingRow]): Unit = {
    counts.add(Counts.Pending, added.size)
    state.rows ++= added
    Arrays.sort(state.rows, byTime)
    added.clear()
  }

  /** Adds a row whose own window is over, if it belongs to a session that is open. */
  private def addOld(state: TrailingState, entry: TrailingRow, now: Now, out: TaggedRows): Unit = {
    val rows = state.rows :+ entry
    Arrays.sort(rows, byTime)
    val session = if (entry.time < 0) Vector(entry) else sessions(rows).find(_.contains(entry)).get
    if (entry.time < 0 || now.watermark >= end(session)) emitLate(entry, session, now, out)
    else {
      state.rows = rows
      counts.add(Counts.Pending, 1)
    }
  }

  private def remove(state: TrailingState, removal: TrailingRow, now: Now, out: TaggedRows): Unit = {
    val at = changes.indexOf(state.rows, removal)
    if (at < 0) emitLate(removal, Vector(removal), now, out)
    else {
      state.rows = state.rows.patch(at, Nil, 1)
      counts.add(Counts.Pending, -1)
      counts.add(Counts.Superseded, 2)
    }
  }

  private def emitLate(entry: TrailingRow, session: Vector[TrailingRow], now: Now, out: TaggedRows): Unit = {
    val bounds = Some((session.head.time, end(session)))
    panes.emitLate(Event(entry.row, Some(entry.time)), bounds, now, LateReason.TooLate, out)
  }

  /** Fires the sessions that the watermark has passed. */
  private def close(key: InternalRow, state: TrailingState, now: Now, out: TaggedRows): Unit = {
    val (over, open) = sessions(state.rows).partition(now.watermark >= end(_))
    over.foreach { session =>
      val window = panes.open(session.head.time, end(session), 0, now)
      window.passed = false
      session.foreach(entry => panes.fold(window, Event(entry.row, Some(entry.time))))
      counts.add(Counts.Pending, -session.size)
      counts.add(Counts.Folded, session.size)
      panes.notifyTrigger(window, now)
      panes.onEndPassed(key, window, now, out)
      panes.expire(window)
    }
    if (over.nonEmpty) state.rows = open.flatten.toArray
  }

  /** Divides rows, which are in order of time, into sessions. */
  private def sessions(rows: Array[TrailingRow]): Vector[Vector[TrailingRow]] = rows
    .foldLeft(Vector.empty[Vector[TrailingRow]]) { (done, entry) =>
      if (done.nonEmpty && end(done.last) > entry.time) done.init :+ (done.last :+ entry)
      else done :+ Vector(entry)
    }

  private def end(session: Vector[TrailingRow]): Long = Time.plus(session.last.time, gap)

  private def save(store: SlotStore, state: TrailingState, now: Now): Unit =
    if (state.rows.isEmpty && state.timerAt == Long.MaxValue) store.remove(0)
    else {
      val first = sessions(state.rows).headOption.fold(Long.MaxValue)(end)
      val at = if (first == Long.MaxValue) first else Time.millis(first)
      if (at < state.timerAt) {
        state.timerAt = at
        store.setTimer(at)
      }
      store.put(0, codec.write(state))
    }
}
