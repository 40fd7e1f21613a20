"""`Panes`, the results of windows, and `Deduplicated`: timed streams whose step has a `late` output."""

from __future__ import annotations

from headrace.steps.base import Ref
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


class Panes(TimedStream):
    """Results of windows: the key columns, `window`, the aggregates and `pane`.

    The event time of a pane is just before the end of its window, so that panes can be windowed again.

    >>> from headrace import Pipeline, connect, windows
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").window(windows.tumbling("1 hour")).aggregate("totals", n="count(*)").late
    <totals.late of p>
    """

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows too late for all their windows, with `late_by`, `window`, `watermark` and `reason`."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))


class Deduplicated(TimedStream):
    """Rows without duplicates."""

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows that arrive after the deduplication state for their key has expired."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))
