package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.TaggedRows
import org.apache.spark.sql.headrace.operators.{Event, Now}

/** Count windows: window i holds the rows `i * every` to `i * every + size - 1` of its key. */
final class CountWindows(panes: Panes, kind: Count) extends OrderedWindows(panes) {
  override protected def onRow(
      key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit = {
    val ordinal = state.taken
    state.taken += 1
    if (ordinal % kind.every == 0) open(state, ordinal / kind.every, event, now)
    assign(event, state, now, out)
    if (state.open.nonEmpty && state.open.head.number * kind.every + kind.size - 1 == ordinal) {
      close(key, state, state.open.head, now, out)
    }
  }
}

/** Delta windows: a value further than `by` from the window's first starts a new window; null never does. */
final class DeltaWindows(panes: Panes, kind: Delta) extends OrderedWindows(panes) {
  override protected def onRow(
      key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit = {
    val value = panes.layout.value(event.row)
    if (state.open.nonEmpty && math.abs(value - state.open.head.base) > kind.by) {
      close(key, state, state.open.head, now, out)
    }
    if (state.open.isEmpty) {
      open(state, state.number, event, now)
      state.number += 1
    }
    if (state.open.head.base.isNaN) state.open.head.base = value
    assign(event, state, now, out)
  }
}

/** Punctuation windows: a row that satisfies the condition closes the window and belongs to it. */
final class PunctuatedWindows(panes: Panes) extends OrderedWindows(panes) {
  override protected def onRow(
      key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit = {
    if (state.open.isEmpty) {
      open(state, state.number, event, now)
      state.number += 1
    }
    assign(event, state, now, out)
    if (panes.layout.conditionHolds(event.row)) close(key, state, state.open.head, now, out)
  }
}

/** Landmark windows: a row that satisfies the condition opens a window; earlier rows are window 0. */
final class LandmarkWindows(panes: Panes) extends OrderedWindows(panes) {
  override protected def onRow(
      key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit = {
    if (panes.layout.conditionHolds(event.row)) {
      state.open.headOption.foreach(close(key, state, _, now, out))
      state.number += 1
    }
    if (state.open.isEmpty) open(state, state.number, event, now)
    assign(event, state, now, out)
  }
}

/**
 * Landmark windows with a reset period that fire at the end of each step, once they have rows. Each step is a
 * window `[reset, end of step)` that takes over the content of the one before.
 */
final class ResetWindows(panes: Panes, kind: Reset) extends OrderedWindows(panes) {
  override protected def onRow(
      key: InternalRow, state: OrderedState, event: Event, now: Now, out: TaggedRows): Unit = {
    val time = event.time.get
    state.open.headOption.foreach(roll(key, state, _, time, now, out))
    if (state.open.isEmpty) {
      val window = open(state, state.number, event, now)
      window.start = Math.floorDiv(time, kind.every) * kind.every
      window.end = stepEnd(window.start, time)
      state.number += 1
    }
    val window = state.open.head
    val (start, end) = (window.start, window.end)
    assign(event, state, now, out)
    window.start = start
    window.end = end
  }

  override protected def advance(key: InternalRow, state: OrderedState, now: Now, out: TaggedRows): Unit =
    state.open.headOption.foreach(roll(key, state, _, now.watermark, now, out))
  override protected def due(state: OrderedState): Long = state.open.headOption.fold(Long.MaxValue)(_.end)

  /** Fires the steps that end by `time` and closes the window at the end of its period. */
  private def roll(key: InternalRow, state: OrderedState, window: WindowState, time: Long, now: Now,
      out: TaggedRows): Unit = {
    val over = window.start + kind.every
    while (state.open.nonEmpty && window.end <= time) {
      if (window.end >= over) close(key, state, window, now, out)
      else {
        panes.notifyTrigger(window, now)
        panes.onEndPassed(key, window, now, out)
        panes.startNext(window, state.number)
        window.end = math.min(window.end + kind.step, over)
        state.number += 1
      }
    }
  }

  private def stepEnd(start: Long, time: Long): Long = math
    .min(start + ((time - start) / kind.step + 1) * kind.step, start + kind.every)
}
