"""`Joined`: the results of a join of two streams, with late rows as a side output."""

from __future__ import annotations

from headrace.steps.base import Ref
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


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
        return Stream(self._pipeline, Ref(self._ref.step, "late"))
