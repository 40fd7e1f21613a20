package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.{Event, Now}

/** Window i holds the rows `i * every` to `i * every + size - 1` of its key, and closes with its last one. */
final class CountWindows(panes: Panes, kind: Count, layout: WindowLayout) extends OrderedWindows(panes, layout) {
  override protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit = {
    val ordinal = state.taken
    state.taken += 1
    if (ordinal % kind.every == 0) open(state, ordinal / kind.every, event, now)
    place(event, state, now, out)
    if (state.open.nonEmpty && state.open.head.number * kind.every + kind.size - 1 == ordinal) {
      close(key, state, state.open.head, now, out)
    }
  }
}

/** A row whose value is further than `by` from the window's first opens a new one; a null value never does. */
final class DeltaWindows(panes: Panes, kind: Delta, layout: WindowLayout) extends OrderedWindows(panes, layout) {
  override protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit = {
    val value = if (event.row.isNullAt(layout.of)) Double.NaN else event.row.getDouble(layout.of)
    if (state.open.nonEmpty && math.abs(value - state.open.head.base) > kind.by) {
      close(key, state, state.open.head, now, out)
    }
    if (state.open.isEmpty) {
      open(state, state.number, event, now)
      state.number += 1
    }
    if (state.open.head.base.isNaN) state.open.head.base = value
    place(event, state, now, out)
  }
}

/** The row that satisfies the condition closes the window, and is in it. */
final class PunctuatedWindows(panes: Panes, layout: WindowLayout) extends OrderedWindows(panes, layout) {
  override protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit = {
    if (state.open.isEmpty) {
      open(state, state.number, event, now)
      state.number += 1
    }
    place(event, state, now, out)
    if (layout.satisfied(event.row)) close(key, state, state.open.head, now, out)
  }
}

/** The row that satisfies the condition opens a window and closes the last; rows before the first are window 0. */
final class LandmarkWindows(panes: Panes, layout: WindowLayout) extends OrderedWindows(panes, layout) {
  override protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit = {
    if (layout.satisfied(event.row)) {
      state.open.headOption.foreach(close(key, state, _, now, out))
      state.number += 1
    }
    if (state.open.isEmpty) open(state, state.number, event, now)
    place(event, state, now, out)
  }
}

/**
 * Windows that start anew with every reset of event time and fire at the end of each step, changed or not, once they
 * have had rows. Each step's window `[reset, end of the step)` is a window of its own that takes over the content.
 */
final class ResetWindows(panes: Panes, kind: Reset, layout: WindowLayout) extends OrderedWindows(panes, layout) {
  override protected def take(key: InternalRow, state: OrderedState, event: Event, now: Now, out: WindowEmitter): Unit = {
    val time = event.time.get
    state.open.headOption.foreach(roll(key, state, _, time, now, out))
    if (state.open.isEmpty) {
      val cell = open(state, state.number, event, now)
      cell.start = Math.floorDiv(time, kind.every) * kind.every
      cell.end = stepEnd(cell.start, time)
      state.number += 1
    }
    val cell = state.open.head
    val (start, end) = (cell.start, cell.end)
    place(event, state, now, out)
    cell.start = start
    cell.end = end
  }

  override protected def advance(key: InternalRow, state: OrderedState, now: Now, out: WindowEmitter): Unit =
    state.open.headOption.foreach(roll(key, state, _, now.watermark, now, out))

  override protected def due(state: OrderedState): Long = state.open.headOption.fold(Long.MaxValue)(_.end)

  /** Fires the steps that end at or before a time, and closes the window where its reset is over. */
  private def roll(key: InternalRow, state: OrderedState, cell: WindowState, time: Long, now: Now, out: WindowEmitter): Unit = {
    val over = cell.start + kind.every
    while (state.open.nonEmpty && cell.end <= time) {
      if (cell.end >= over) close(key, state, cell, now, out)
      else {
        panes.tell(cell, now)
        panes.pass(key, cell, now, out)
        panes.renew(cell, state.number)
        cell.end = math.min(cell.end + kind.step, over)
        state.number += 1
      }
    }
  }

  private def stepEnd(start: Long, time: Long): Long =
    math.min(start + ((time - start) / kind.step + 1) * kind.step, start + kind.every)
}
