/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.windows.{Counts, Event, Now, Reason, Store, Time, Waiting}

import scala.collection.mutable

/**
 * What a step does with one key: it gives its matcher the rows in order.
 *
 * In event-time order a row waits until the watermark is past it, rows of equal time stay in the order they came in,
 * and a row behind the watermark is late. In arrival order rows are taken as they come, and none is late. Within a call
 * the watermark acts first.
 */
final class InOrder(step: InOrderStep, counts: Counts) {
  private val matcher = step.matcher()
  private val arrival = step.arrival || step.clockTime
  private val bytes = new Output(256, -1)

  /** What a key remembers, besides the rows that wait. */
  private final class Key(var earliest: Long, var wake: Long, val memory: matcher.Memory)

  /** A batch's rows of the key. */
  def rows(key: InternalRow, store: Store, events: Iterator[Event], now: Now, out: Tagged): Unit = {
    val before = store.get(0)
    val own = read(before)
    release(key, store, own, now, out)
    val waits = mutable.ArrayBuffer.empty[Array[Byte]]
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      event.time match {
        case None => late(event, now, Reason.NoEventTime, out)
        case Some(time) if time < 0 || (!arrival && time < now.watermark) => late(event, now, Reason.TooLate, out)
        case Some(_) if !step.matters(event.row) => counts.add(Counts.Folded, 1)
        case Some(time) if arrival => take(key, own, event.row.copy(), time, out)
        case Some(time) =>
          waits += Waiting.write(time, event.row)
          own.earliest = math.min(own.earliest, time)
          counts.add(Counts.Pending, 1)
      }
    }
    store.append(waits.toSeq)
    if (arrival && now.ended) matcher.finish(key, own.memory, out)
    keep(store, own, before)
  }

  /** A timer of the key has come; `due` is its millisecond. */
  def visit(key: InternalRow, store: Store, due: Long, now: Now, out: Tagged): Unit = {
    val before = store.get(0)
    val own = read(before)
    if (own.wake <= due) own.wake = Long.MaxValue
    release(key, store, own, now, out)
    keep(store, own, before)
  }

  /** Everything of one key at once, then the end: a batch. */
  def whole(key: InternalRow, events: Iterator[Event], end: Now, out: Tagged): Unit = {
    val memory = matcher.empty
    val (timed, timeless) = events.map(e => e.copy(row = e.row.copy())).toVector.partition(_.time.exists(_ >= 0))
    timeless.foreach(late(_, Now(Time.None, 0), Reason.NoEventTime, out))
    (if (arrival) timed else timed.sortBy(_.time.get)).foreach { event =>
      matcher.advance(key, memory, event.time.get, out)
      matcher.take(key, memory, event.row, event.time.get, out)
    }
    matcher.advance(key, memory, end.watermark, out)
    matcher.finish(key, memory, out)
  }

  private def release(key: InternalRow, store: Store, own: Key, now: Now, out: Tagged): Unit = {
    if (own.earliest < now.watermark) {
      val (ready, rest) = store.waiting.toVector.partition(Waiting.time(_) < now.watermark)
      ready.sortBy(Waiting.time).foreach { row =>
        counts.add(Counts.Pending, -1)
        take(key, own, Waiting.read(row).row, Waiting.time(row), out)
      }
      store.replace(rest)
      own.earliest = if (rest.isEmpty) Long.MaxValue else rest.map(Waiting.time).min
    }
    if (now.watermark != Time.None) matcher.advance(key, own.memory, now.watermark, out)
    if (now.ended) matcher.finish(key, own.memory, out)
  }

  private def take(key: InternalRow, own: Key, row: InternalRow, time: Long, out: Tagged): Unit = {
    matcher.advance(key, own.memory, time, out)
    matcher.take(key, own.memory, row, time, out)
    counts.add(Counts.Folded, 1)
  }

  private def late(event: Event, now: Now, reason: String, out: Tagged): Unit = {
    counts.add(Counts.Late, 1)
    out.late(event, now, reason)
  }

  private def keep(store: Store, own: Key, before: Array[Byte]): Unit = {
    val first = if (own.earliest == Long.MaxValue) Long.MaxValue else Math.floorDiv(own.earliest, 1000L) + 1
    val at = math.min(first, Time.millis(matcher.due(own.memory)))
    if (at < own.wake) {
      own.wake = at
      store.wake(at)
    }
    if (own.earliest == Long.MaxValue && matcher.isEmpty(own.memory)) {
      if (before != null) store.remove(0)
    } else {
      val after = write(own)
      if (!java.util.Arrays.equals(before, after)) store.put(0, after)
    }
  }

  private def write(own: Key): Array[Byte] = {
    bytes.clear()
    bytes.writeByte(InOrder.Format)
    bytes.writeInt(step.fingerprint)
    bytes.writeLong(own.earliest)
    bytes.writeLong(own.wake)
    bytes.writeBoolean(!matcher.isEmpty(own.memory))
    if (!matcher.isEmpty(own.memory)) matcher.write(own.memory, bytes)
    bytes.toBytes
  }

  private def read(stored: Array[Byte]): Key =
    if (stored == null) new Key(Long.MaxValue, Long.MaxValue, matcher.empty)
    else {
      val in = InOrder.opened(stored, step.fingerprint)
      new Key(in.readLong(), in.readLong(), if (in.readBoolean()) matcher.read(in) else matcher.empty)
    }
}

object InOrder {
  private val Format = 1

  /** Stored bytes, after what tells them from those of another declaration: earliest, wake, whether a memory follows. */
  private def opened(stored: Array[Byte], fingerprint: Int): Input = {
    val in = new Input(stored)
    if (in.readByte() != Format || in.readInt() != fingerprint) {
      throw new IllegalStateException(
        "the checkpoint holds matches of another declaration of this step (its pattern or its columns have changed); " +
          "name the step anew or delete its checkpoint")
    }
    in
  }

  /** Stored bytes where a matcher's memory begins, if there is one. */
  def memory(stored: Array[Byte], fingerprint: Int): Option[Input] = {
    val in = opened(stored, fingerprint)
    in.skip(16L)
    if (in.readBoolean()) Some(in) else None
  }
}
