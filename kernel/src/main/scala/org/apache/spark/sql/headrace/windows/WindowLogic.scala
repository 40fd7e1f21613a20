package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, Now}

/** Receives the results of a step. */
trait WindowEmitter {
  def pane(key: InternalRow, pane: Pane, retraction: Boolean): Unit
  def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String): Unit

  /** Emits the result of one row of a trailing window. */
  def trailing(key: InternalRow, row: InternalRow, pane: Pane, retraction: Boolean): Unit
}

/** Per-key logic of a windowed step. Within a call the watermark is applied first. */
trait WindowLogic {
  /** Processes the rows of one key in a micro-batch, in arrival order. */
  def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit

  /** Processes an expired timer of the key; `due` is its millisecond. */
  def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit
}

object WindowLogic {
  def apply(
      spec: WindowingSpec, aggregates: Aggregates, counts: Counts, layout: WindowLayout): WindowLogic = {
    val panes = new Panes(spec, aggregates, counts)
    val logic = of(panes, layout)
    if (spec.ttl > 0) new ExpiringLogic(logic, panes, spec.ttl) else logic
  }

  private def of(panes: Panes, layout: WindowLayout): WindowLogic = panes.spec.kind match {
    case s: Sliding if panes.spec.sharesSlices && panes.aggregates.commutative =>
      new SlicedWindows(panes, WindowGrid.sliding(s))
    case s: Sliding => new AlignedWindows(panes, WindowGrid.sliding(s))
    case GlobalWindow => new AlignedWindows(panes, WindowGrid.Whole)
    case Session(gap) if layout.isChangelog => new ChangelogSessions(panes, gap, layout)
    case Session(gap) => new SessionWindows(panes, gap)
    case c: Count => new CountWindows(panes, c, layout)
    case d: Delta => new DeltaWindows(panes, d, layout)
    case Punctuation => new PunctuatedWindows(panes, layout)
    case Landmark => new LandmarkWindows(panes, layout)
    case r: Reset => new ResetWindows(panes, r, layout)
    case Trailing(size) => new TrailingWindows(panes, size, layout)
  }
}
