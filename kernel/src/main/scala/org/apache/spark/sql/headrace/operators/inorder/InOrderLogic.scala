package org.apache.spark.sql.headrace.operators.inorder

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{BufferedRow, OrderedBuffer, SlotStore, TimedState}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, StepTime, Time}

/**
 * Per-key logic of an in-order step: buffers rows and passes them to the matcher in order.
 *
 * In event-time order a row is buffered until the watermark passes it, rows of equal time keep arrival order,
 * and a row behind the watermark is late. In arrival order rows are passed on at once and none is late; only
 * then a step may have no time at all.
 * Within a call the watermark is applied first.
 */
final class InOrderLogic(step: InOrderStep, counts: Counts) extends KeyedLogic {
  private val matcher = step.matcher()
  private val arrival = step.arrival || step.clockTime
  private val timeless = step.time == StepTime.None
  private val copies = step.columns.copiesRows
  private val bytes = new Output(256, -1)

  /** State of one key during a call. */
  private final class Key(val memory: matcher.Memory, val backlog: OrderedBuffer) extends TimedState

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val before = store.get(0)
    val own = read(before)
    release(key, store, own, now, out)
    var count, buffered, skipped = 0L
    while (events.hasNext) {
      val event = events.next()
      count += 1
      step.arriving(event.row)
      if (timeless) take(key, own, copyOf(event.row), 0, out)
      else if (event.at == Time.None) out.late(event, now, LateReason.NoEventTime)
      else if (event.at < 0 || (!arrival && event.at < now.watermark)) out
        .late(event, now, LateReason.TooLate)
      else if (!step.matters(event.row)) skipped += 1
      else if (arrival) take(key, own, copyOf(event.row), event.at, out)
      else {
        own.backlog.add(event.at, step.columns.bufferedRow(event.row))
        buffered += 1
      }
    }
    counts.add(Counts.Rows, count)
    counts.add(Counts.Processed, skipped)
    counts.add(Counts.Buffered, buffered)
    if (arrival && now.ended) matcher.finish(key, own.memory, out)
    save(store, own, before, now)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val before = store.get(0)
    val own = read(before)
    own.onTimer(due)
    release(key, store, own, now, out)
    save(store, own, before, now)
  }

  override def onBatch(key: InternalRow, events: Iterator[Event], out: TaggedRows): Unit = {
    val memory = matcher.empty
    val (taken, late) = events.map(e => e.copy(row = e.row.copy())).toVector.partition(timeless || _.at >= 0)
    late.foreach(out.late(_, Now(Time.None, 0), LateReason.NoEventTime))
    (if (arrival) taken else taken.sortBy(_.at)).foreach { event =>
      val at = if (timeless) 0L else event.at
      matcher.advance(key, memory, at, out)
      matcher.take(key, memory, event.row, at, out)
    }
    matcher.advance(key, memory, Time.End, out)
    matcher.finish(key, memory, out)
  }

  private def release(key: InternalRow, store: SlotStore, own: Key, now: Now, out: TaggedRows): Unit = {
    if (own.backlog.earliest < now.watermark) {
      val ready = own.backlog.release(now.watermark, store)
      counts.add(Counts.Buffered, -ready.length)
      ready.foreach(entry => take(key, own, entry.row, entry.time, out))
    }
    if (now.watermark != Time.None) matcher.advance(key, own.memory, now.watermark, out)
    if (now.ended) matcher.finish(key, own.memory, out)
  }

  private def copyOf(row: InternalRow): InternalRow = if (copies) row else row.copy()

  private def take(key: InternalRow, own: Key, row: InternalRow, time: Long, out: TaggedRows): Unit = {
    matcher.advance(key, own.memory, time, out)
    matcher.take(key, own.memory, row, time, out)
    counts.add(Counts.Processed, 1)
  }

  private def save(store: SlotStore, own: Key, before: Array[Byte], now: Now): Unit = {
    val earliest = own.backlog.earliest
    if (earliest == Long.MaxValue && matcher.isEmpty(own.memory)) {
      own.replaceTimer(Long.MaxValue, store) // the entry is removed, so no later call could cancel it
      if (before != null) store.remove(0)
    } else {
      scheduleTimer(store, own, earliest, now)
      val after = write(own, store)
      if (!java.util.Arrays.equals(before, after)) store.put(0, after)
    }
  }

  /** Sets the key's only timer. Replaces an expired one, so that a key with rows gets no second call. */
  private def scheduleTimer(store: SlotStore, own: Key, earliest: Long, now: Now): Unit = {
    val at = math.min(Time.after(earliest), Time.millis(matcher.due(own.memory)))
    if (at < own.timerAt || own.timerAt <= Time.floor(now.watermark)) own.replaceTimer(at, store)
  }

  private def write(own: Key, store: SlotStore): Array[Byte] = {
    bytes.clear()
    bytes.writeByte(InOrderLogic.Format)
    bytes.writeInt(step.fingerprint)
    bytes.writeLong(own.timerAt)
    bytes.writeBoolean(!matcher.isEmpty(own.memory))
    if (!matcher.isEmpty(own.memory)) matcher.write(own.memory, bytes)
    own.backlog.write(bytes, store)
    bytes.toBytes
  }

  private def read(stored: Array[Byte]): Key =
    if (stored == null) new Key(matcher.empty, new OrderedBuffer)
    else {
      val in = InOrderLogic.open(stored, step.fingerprint)
      val timerAt = in.readLong()
      val memory = if (in.readBoolean()) matcher.read(in) else matcher.empty
      counts.add(Counts.DroppedMatches, matcher.countDropped(memory))
      val own = new Key(memory, InOrderLogic.backlog(in, stored))
      own.timerAt = timerAt
      own
    }
}

object InOrderLogic {
  /** Bumped with every change of the format; state of another version is refused. */
  private val Format = 2

  /** Checks the header. Timer, memory flag, memory and buffer follow. */
  private def open(stored: Array[Byte], fingerprint: Int): Input = {
    val in = new Input(stored)
    if (in.readByte() != Format || in.readInt() != fingerprint) {
      throw new IllegalStateException(
        "the checkpoint holds matches of another declaration of this step (its pattern or its columns have " +
          "changed) or of another version; name the step anew or delete its checkpoint")
    }
    in
  }

  private def backlog(in: Input, stored: Array[Byte]): OrderedBuffer = {
    val backlog = new OrderedBuffer
    backlog.read(in, stored)
    backlog
  }

  /** Contents of slot 0: the matcher's memory, if any, and the newest buffered rows. */
  def readSlot(bytes: Array[Byte], fingerprint: Int, matcher: Matcher)
      : (Option[matcher.Memory], Iterable[BufferedRow]) = {
    val in = open(bytes, fingerprint)
    in.skip(8L)
    val memory = if (in.readBoolean()) Some(matcher.read(in)) else None
    (memory, backlog(in, bytes).tailRows)
  }

  /** Buffered rows in any slot of a key. */
  def readRows(slot: Long, bytes: Array[Byte], fingerprint: Int, matcher: Matcher): Iterable[BufferedRow] =
    if (slot == 0) readSlot(bytes, fingerprint, matcher)._2 else OrderedBuffer.chunkRows(bytes)

  /** All buffered rows of a key in order, from slot 0 (may be null) and the other slots. */
  def readAllRows(
      bytes: Array[Byte], chunks: Seq[Array[Byte]], fingerprint: Int, matcher: Matcher): Seq[BufferedRow] = {
    val newest = if (bytes == null) Nil else readSlot(bytes, fingerprint, matcher)._2
    (chunks.flatMap(OrderedBuffer.chunkRows) ++ newest).sortBy(_.time)
  }
}
