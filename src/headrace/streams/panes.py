"""`Panes`, the results of windows, and `Deduplicated`: timed streams whose step has late rows as an output."""

from __future__ import annotations

from headrace.steps.base import Ref
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


class Panes(TimedStream):
    """Results of windows: the key columns, `window`, the aggregates and `pane`.

    A pane's own event time is just before its window's end, so panes can be windowed again.
    """

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows that came too late for all their windows, with `late_by`, `window`, `watermark` and `reason`."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))


class Deduplicated(TimedStream):
    """Rows without repeats."""

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows so late that what was known of their like is forgotten."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))
