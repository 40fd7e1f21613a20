package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.TaggedRows
import org.apache.spark.sql.headrace.operators.{Counts, LateReason, Now, Time}

/**
 * Session windows over a changelog, each of which fires once. The rows of a session are kept until it closes,
 * because the removal of a row can shorten or divide it.
 */
final class ChangelogSessions(panes: Panes, gap: Long) extends StoredRowWindows(panes) {
  private val changes = layout.changes

  override protected def take(
      state: StoredRows, added: Iterator[StoredRow], now: Now, out: TaggedRows): Unit = {
    val open, removals = mutable.ArrayBuffer.empty[StoredRow]
    added.foreach { entry =>
      if (changes.removes(entry.row)) removals += entry
      else if (entry.time >= 0 && Time.plus(entry.time, gap) > now.watermark) open += entry
      else {
        addOpen(state, open)
        addOld(state, entry, now, out)
      }
    }
    addOpen(state, open)
    removals.foreach(remove(state, _, now, out)) // after the rows that they may refer to
  }

  private def addOpen(state: StoredRows, open: mutable.ArrayBuffer[StoredRow]): Unit = {
    counts.add(Counts.Buffered, open.size)
    state.add(open)
    open.clear()
  }

  /** Adds a row whose own window is over, if it belongs to a session that is open. */
  private def addOld(state: StoredRows, entry: StoredRow, now: Now, out: TaggedRows): Unit =
    if (entry.time < 0) emitLate(entry, Vector(entry), now, out)
    else {
      val rows = new StoredRows(state.rows)
      rows.add(Seq(entry))
      val session = sessions(rows.rows).find(_.contains(entry)).get
      if (now.watermark >= end(session)) emitLate(entry, session, now, out)
      else {
        state.rows = rows.rows
        counts.add(Counts.Buffered, 1)
      }
    }

  private def remove(state: StoredRows, removal: StoredRow, now: Now, out: TaggedRows): Unit = {
    val at = changes.indexOf(state.rows, removal)
    if (at < 0) emitLate(removal, Vector(removal), now, out)
    else {
      state.remove(at)
      counts.add(Counts.Buffered, -1)
      counts.add(Counts.Superseded, 2)
    }
  }

  private def emitLate(entry: StoredRow, session: Vector[StoredRow], now: Now, out: TaggedRows): Unit = panes
    .emitLate(entry.event, Some((session.head.time, end(session))), now, LateReason.TooLate, out)

  /** Fires the sessions that the watermark has passed. */
  override protected def release(key: InternalRow, state: StoredRows, now: Now, out: TaggedRows): Unit = {
    val (over, open) = sessions(state.rows).partition(now.watermark >= end(_))
    over.foreach { session =>
      val window = panes.open(session.head.time, end(session), 0, now)
      window.passed = false
      session.foreach(entry => panes.fold(window, entry.event))
      counts.add(Counts.Buffered, -session.size)
      counts.add(Counts.Processed, session.size)
      panes.notifyTrigger(window, now)
      panes.onEndPassed(key, window, now, out)
      panes.expire(window)
    }
    if (over.nonEmpty) state.rows = open.flatten.toArray
  }

  override protected def due(state: StoredRows, now: Now): Long = Time
    .millis(sessions(state.rows).headOption.fold(Long.MaxValue)(end))

  /** Divides rows, which are in order of time, into sessions. */
  private def sessions(rows: Array[StoredRow]): Vector[Vector[StoredRow]] = rows
    .foldLeft(Vector.empty[Vector[StoredRow]]) { (done, entry) =>
      if (done.nonEmpty && end(done.last) > entry.time) done.init :+ (done.last :+ entry)
      else done :+ Vector(entry)
    }

  private def end(session: Vector[StoredRow]): Long = Time.plus(session.last.time, gap)
}
