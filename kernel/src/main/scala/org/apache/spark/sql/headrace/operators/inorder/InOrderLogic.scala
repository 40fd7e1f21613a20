package org.apache.spark.sql.headrace.operators.inorder

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.{BufferedRow, OrderedBuffer, RowChunk, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, LateReason, Now, Time}

/**
 * What a step does with one key: it gives its matcher the rows in order.
 *
 * In event-time order a row waits until the watermark is past it, rows of equal time stay in the order they came in,
 * and a row behind the watermark is late. In arrival order rows are taken as they come, and none is late. Within a call
 * the watermark acts first.
 */
final class InOrderLogic(step: InOrderStep, counts: Counts) {
  private val matcher = step.matcher()
  private val arrival = step.arrival || step.clockTime
  private val bytes = new Output(256, -1)

  /** What a key remembers, with the rows that wait. */
  private final class Key(var wake: Long, val memory: matcher.Memory, val backlog: OrderedBuffer)

  /** A batch's rows of the key. */
  def rows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val before = store.get(0)
    val own = read(before)
    release(key, store, own, now, out)
    var came, waits, passed = 0L
    while (events.hasNext) {
      val event = events.next()
      came += 1
      step.arriving(event.row)
      if (event.at == Time.None) out.late(event, now, LateReason.NoEventTime)
      else if (event.at < 0 || (!arrival && event.at < now.watermark)) out.late(event, now, LateReason.TooLate)
      else if (!step.matters(event.row)) passed += 1
      else if (arrival) take(key, own, event.row.copy(), event.at, out)
      else {
        own.backlog.add(event.at, step.columns.waiting(event.row))
        waits += 1
      }
    }
    counts.add(Counts.Rows, came)
    counts.add(Counts.Folded, passed)
    counts.add(Counts.Pending, waits)
    if (arrival && now.ended) matcher.finish(key, own.memory, out)
    keep(store, own, before, now)
  }

  /** A timer of the key has come; `due` is its millisecond. The store has taken it out. */
  def visit(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val before = store.get(0)
    val own = read(before)
    if (own.wake <= due) own.wake = Long.MaxValue
    release(key, store, own, now, out)
    keep(store, own, before, now)
  }

  /** Everything of one key at once, then the end: a batch. */
  def whole(key: InternalRow, events: Iterator[Event], end: Now, out: TaggedRows): Unit = {
    val memory = matcher.empty
    val (timed, timeless) = events.map(e => e.copy(row = e.row.copy())).toVector.partition(_.time.exists(_ >= 0))
    timeless.foreach(out.late(_, Now(Time.None, 0), LateReason.NoEventTime))
    (if (arrival) timed else timed.sortBy(_.time.get)).foreach { event =>
      matcher.advance(key, memory, event.time.get, out)
      matcher.take(key, memory, event.row, event.time.get, out)
    }
    matcher.advance(key, memory, end.watermark, out)
    matcher.finish(key, memory, out)
  }

  private def release(key: InternalRow, store: SlotStore, own: Key, now: Now, out: TaggedRows): Unit = {
    if (own.backlog.earliest < now.watermark) {
      val ready = own.backlog.release(now.watermark, store)
      counts.add(Counts.Pending, -ready.length)
      ready.foreach(held => take(key, own, held.row, held.time, out))
    }
    if (now.watermark != Time.None) matcher.advance(key, own.memory, now.watermark, out)
    if (now.ended) matcher.finish(key, own.memory, out)
  }

  private def take(key: InternalRow, own: Key, row: InternalRow, time: Long, out: TaggedRows): Unit = {
    matcher.advance(key, own.memory, time, out)
    matcher.take(key, own.memory, row, time, out)
    counts.add(Counts.Folded, 1)
  }

  private def keep(store: SlotStore, own: Key, before: Array[Byte], now: Now): Unit = {
    val earliest = own.backlog.earliest
    if (earliest == Long.MaxValue && matcher.isEmpty(own.memory)) {
      if (own.wake != Long.MaxValue) store.cancel(own.wake) // nobody would know of it any more, and it would be visited
      if (before != null) store.remove(0)
    } else {
      arm(store, own, earliest, now)
      val after = write(own, store)
      if (!java.util.Arrays.equals(before, after)) store.put(0, after)
    }
  }

  /** One timer for a key. One that has come already is set anew, so that a key that had rows isn't visited besides. */
  private def arm(store: SlotStore, own: Key, earliest: Long, now: Now): Unit = {
    val first = if (earliest == Long.MaxValue) Long.MaxValue else Math.floorDiv(earliest, 1000L) + 1
    val at = math.min(first, Time.millis(matcher.due(own.memory)))
    if (at < own.wake || own.wake <= Time.floor(now.watermark)) {
      if (own.wake != Long.MaxValue) store.cancel(own.wake)
      own.wake = at
      if (at != Long.MaxValue) store.wake(at)
    }
  }

  private def write(own: Key, store: SlotStore): Array[Byte] = {
    bytes.clear()
    bytes.writeByte(InOrderLogic.Format)
    bytes.writeInt(step.fingerprint)
    bytes.writeLong(own.wake)
    bytes.writeBoolean(!matcher.isEmpty(own.memory))
    if (!matcher.isEmpty(own.memory)) matcher.write(own.memory, bytes)
    own.backlog.write(bytes, store)
    bytes.toBytes
  }

  private def read(stored: Array[Byte]): Key =
    if (stored == null) new Key(Long.MaxValue, matcher.empty, new OrderedBuffer)
    else {
      val in = InOrderLogic.opened(stored, step.fingerprint)
      val wake = in.readLong()
      val memory = if (in.readBoolean()) matcher.read(in) else matcher.empty
      counts.add(Counts.Dropped, matcher.dropped(memory))
      new Key(wake, memory, InOrderLogic.backlog(in, stored))
    }
}

object InOrderLogic {
  /** Raised with every change of what is written: state of another version is refused. */
  private val Format = 2

  /** Stored bytes, after what tells them from those of another declaration: wake, whether a memory follows, backlog. */
  private def opened(stored: Array[Byte], fingerprint: Int): Input = {
    val in = new Input(stored)
    if (in.readByte() != Format || in.readInt() != fingerprint) {
      throw new IllegalStateException(
        "the checkpoint holds matches of another declaration of this step (its pattern or its columns have changed) or " +
          "of another version; name the step anew or delete its checkpoint")
    }
    in
  }

  private def backlog(in: Input, stored: Array[Byte]): OrderedBuffer = {
    val backlog = new OrderedBuffer
    backlog.read(in, stored)
    backlog
  }

  /** What slot 0 of a key holds: a matcher's memory, if there is one, and the newest rows that wait. */
  def stored(bytes: Array[Byte], fingerprint: Int, matcher: Matcher): (Option[matcher.Memory], Iterator[BufferedRow]) = {
    val in = opened(bytes, fingerprint)
    in.skip(8L)
    val memory = if (in.readBoolean()) Some(matcher.read(in)) else None
    (memory, backlog(in, bytes).inside)
  }

  /** Rows that wait, from any slot of a key. */
  def waiting(slot: Long, bytes: Array[Byte], fingerprint: Int, matcher: Matcher): Iterator[BufferedRow] =
    if (slot == 0) stored(bytes, fingerprint, matcher)._2 else RowChunk.rows(bytes, 0, bytes.length)

  /** All rows of a key that wait, in order: from slot 0, null for none, and from the other slots. */
  def held(bytes: Array[Byte], pieces: Seq[Array[Byte]], fingerprint: Int, matcher: Matcher): Seq[BufferedRow] = {
    val newest = if (bytes == null) Iterator.empty else stored(bytes, fingerprint, matcher)._2
    (pieces.flatMap(piece => RowChunk.rows(piece, 0, piece.length)) ++ newest).sortBy(_.time)
  }
}
