package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.{OrderedBuffer, SlotStore, TimedState}

/** A row of a table from its event time on; `row` is null from the time at which it was deleted. */
private final case class Version(time: Long, sequence: Long, row: UnsafeRow) {
  /** True if this version precedes another, or equals it in order. */
  def upTo(other: Version): Boolean = time < other.time || (time == other.time && sequence <= other.sequence)
}

/**
 * Joins a row of a stream with the version of the table that is valid at the row's event time: the one with
 * the highest time at or before it.
 *
 * A row waits until the watermark has passed it. A version is accepted after the watermark has passed it, as
 * it is valid for later rows too. Of the versions up to the watermark the last one is kept.
 */
private final class VersionJoin(step: TableJoinStep, counts: Counts) extends KeyedLogic {
  private val condition = step.pairCondition()

  private final class Key(val versions: mutable.ArrayBuffer[Version], val waiting: OrderedBuffer)
      extends TimedState

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val own = read(store.get(0))
    release(own, store, now, out)
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (step.isRight(event.row)) addVersion(own, key, event)
      else if (event.at == Time.None) out.late(event, now, LateReason.NoEventTime)
      else if (event.at < 0 || event.at < now.watermark) out.late(event, now, LateReason.TooLate)
      else {
        own.waiting.add(event.at, step.left.toStored(event.row))
        counts.add(Counts.Buffered, 1)
      }
    }
    save(own, store, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val bytes = store.get(0)
    if (bytes != null) {
      val own = read(bytes)
      own.onTimer(due)
      release(own, store, now, out)
      save(own, store, now)
    }
  }

  private def addVersion(own: Key, key: InternalRow, event: Event): Unit = {
    counts.add(Counts.Processed, 1)
    if (!key.anyNull && event.at != Time.None) {
      val row = if (step.isDeleted(event.row)) null else step.rightRow(event.row)
      val version = Version(event.at, step.sequenceOf(event.row), row)
      own.versions.insert(own.versions.lastIndexWhere(_.upTo(version)) + 1, version)
    }
  }

  private def release(own: Key, store: SlotStore, now: Now, out: TaggedRows): Unit =
    if (own.waiting.earliest < now.watermark) {
      val ready = own.waiting.release(now.watermark, store)
      counts.add(Counts.Buffered, -ready.length)
      ready.foreach { held =>
        val partner = own.versions.lastIndexWhere(_.time <= held.time) match {
          case -1 => null
          case at => Option(own.versions(at).row).filter(condition.accepts(held.row, _)).orNull
        }
        if (partner == null && !step.kind.unmatchedLeft) counts.add(Counts.Unmatched, 1)
        else {
          counts.add(Counts.Processed, 1)
          out.emit(0, step.joinRows(held.row, partner, null))
        }
      }
    }

  private def save(own: Key, store: SlotStore, now: Now): Unit = {
    val base = own.versions.lastIndexWhere(_.time <= now.watermark)
    if (base > 0) own.versions.remove(0, base)
    own.replaceTimer(Time.after(own.waiting.earliest), store)
    if (own.versions.isEmpty && own.waiting.earliest == Long.MaxValue) store.remove(0)
    else store.put(0, write(own, store))
  }

  private def read(bytes: Array[Byte]): Key = {
    val own = new Key(mutable.ArrayBuffer.empty, new OrderedBuffer)
    if (bytes != null) {
      val in = new Input(bytes)
      own.timerAt = in.readLong()
      (0 until in.readVarInt(true)).foreach { _ =>
        val time = in.readLong()
        val sequence = in.readVarLong(true)
        own.versions +=
          Version(time, sequence, if (in.readBoolean()) RowBytes.read(in, step.rightWidth) else null)
      }
      own.waiting.read(in, bytes)
    }
    own
  }

  private def write(own: Key, store: SlotStore): Array[Byte] = {
    val out = new Output(256, -1)
    out.writeLong(own.timerAt)
    out.writeVarInt(own.versions.size, true)
    own.versions.foreach { version =>
      out.writeLong(version.time)
      out.writeVarLong(version.sequence, true)
      out.writeBoolean(version.row != null)
      if (version.row != null) RowBytes.write(version.row, out)
    }
    own.waiting.write(out, store)
    out.toBytes
  }
}
