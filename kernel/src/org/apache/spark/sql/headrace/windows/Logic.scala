/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow

/**
 * A row with its event time in microseconds (`Time.None`: it has none), or several rows of one slice of time that were
 * combined before they came here: then `buffer` holds their aggregates, and `at` is the newest one's time.
 */
final case class Event(row: InternalRow, at: Long, rows: Long, buffer: Array[Byte]) {
  def time: Option[Long] = if (at == Time.None) None else Some(at)
}

object Event {
  def apply(row: InternalRow, time: Option[Long]): Event = new Event(row, time.getOrElse(Time.None), 1, null)
}

/** Why a row went to `late`. */
object Reason {
  val TooLate = "too_late"
  val NoEventTime = "no_event_time"
  val Closed = "closed"
}

/** The state of one key: numbered slots and timers. */
trait Store {
  def get(slot: Long): Array[Byte]
  def put(slot: Long, value: Array[Byte]): Unit
  def remove(slot: Long): Unit
  def all: Iterator[(Long, Array[Byte])]

  /** The same for slots whose next visit is known: a store may keep them in that order. */
  def get(slot: Long, due: Long): Array[Byte] = get(slot)
  def put(slot: Long, value: Array[Byte], due: Long): Unit = put(slot, value)

  /** The slot that a visit is for, where the store knows it; the store takes it out by itself. */
  def come: Option[(Long, Array[Byte])] = None

  /** When rows last came for the key, as `Age` writes it; only where keys are forgotten. */
  def age: Array[Byte]
  def age_=(value: Array[Byte]): Unit

  /** Drops all of the key's state, timers included. */
  def forget(): Unit

  /** Asks for a visit when the step's time is at this millisecond. */
  def wake(millis: Long): Unit

  /** Takes back what `wake` asked for; a store that doesn't know how visits in vain. */
  def cancel(millis: Long): Unit = ()
}

/** Where results go. */
trait Emitter {
  def pane(key: InternalRow, pane: Emitted, retraction: Boolean): Unit
  def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String): Unit

  /** One result of a trailing window: the row itself with its aggregates. */
  def trailing(key: InternalRow, row: InternalRow, pane: Emitted, retraction: Boolean): Unit
}

/**
 * What a step does with one key. Knows nothing of Spark's state or of batches: it is given a store, rows in
 * arrival order and the time, and emits. Within a call the watermark acts first.
 */
trait Logic {
  /** A batch's rows of the key. */
  def rows(key: InternalRow, store: Store, events: Iterator[Event], now: Now, out: Emitter): Unit

  /** A timer of the key has come; `due` is its millisecond. */
  def visit(key: InternalRow, store: Store, due: Long, now: Now, out: Emitter): Unit
}

object Logic {
  def apply(spec: Spec, aggregates: Aggregates, counts: Counts, layout: Layout): Logic = {
    val panes = new Panes(spec, aggregates, counts)
    val logic = of(panes, layout)
    if (spec.ttl > 0) new Expiring(logic, panes, spec.ttl) else logic
  }

  private def of(panes: Panes, layout: Layout): Logic =
    panes.spec.kind match {
      case s: Sliding if panes.spec.shares && panes.aggregates.commutative => new Slices(panes, Grid.sliding(s))
      case s: Sliding => new Aligned(panes, Grid.sliding(s))
      case Everything => new Aligned(panes, Grid.Whole)
      case Session(gap) => new Sessions(panes, gap)
      case c: Count => new CountWindows(panes, c, layout)
      case d: Delta => new DeltaWindows(panes, d, layout)
      case Punctuation => new PunctuatedWindows(panes, layout)
      case Landmark => new LandmarkWindows(panes, layout)
      case r: Reset => new ResetWindows(panes, r, layout)
      case Trailing(size) => new TrailingWindows(panes, size, layout)
    }
}
