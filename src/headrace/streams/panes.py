"""`Panes`, `Joined` and `Deduplicated`: timed streams whose step has a `late` output."""

from __future__ import annotations

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
        return self._side_output("late")


class Joined(TimedStream):
    """Results of a join. The event time of a pair is the later of the two; an unmatched row keeps its time.

    >>> from headrace import Pipeline, connect
    >>> ads = Pipeline("p")
    >>> views = ads.read("views", connect.memory(), schema="ad string, seen timestamp").event_time("seen")
    >>> clicks = ads.read("clicks", connect.memory(), schema="ad string, at timestamp").event_time("at")
    >>> views.join("attributed", clicks, on="ad", within=("0 seconds", "15 minutes")).late
    <attributed.late of p>
    """

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows of both streams that arrived behind the watermark, with `late_by` and `reason`."""
        return self._side_output("late")


class Deduplicated(TimedStream):
    """Rows without duplicates."""

    stage_after = TimedStream

    @property
    def late(self) -> Stream:
        """Rows that arrive after the deduplication state for their key has expired."""
        return self._side_output("late")
