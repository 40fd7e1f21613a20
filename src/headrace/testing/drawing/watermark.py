"""Compute the watermark after each line of a script, which a query does not report."""

from __future__ import annotations

from collections.abc import Mapping, Set

from headrace.explain.timelines.recording import FOREVER
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.testing.transcripts.script import Advance, End, Line, Rows, Watermark


class WatermarkLine:
    """The watermarks of the sources during a script; that of the step is their minimum.

    A source with `watermark_when` has a watermark only if the script sets it.
    """

    def __init__(self, times: Mapping[str, EventTime | ClockTime], fed: Set[str]) -> None:
        self._times, self._fed = times, fed
        self._highest: dict[str, int] = {}
        self._touched: dict[str, int] = {}
        self._marks: dict[str, int] = {}

    def by_event_time(self, source: str) -> bool:
        """Return true if the time of a source is a column, not the clock."""
        return isinstance(self._times[source], EventTime)

    def after(self, line: Line, *, arrivals: Mapping[str, list[int]], clock: int) -> int | None:
        """Return the watermark after this line in microseconds; None if there is none."""
        match line:
            case End():
                return FOREVER
            case Watermark(_, marks):
                self._marks |= {source: mark for source, mark in marks.items() if source in self._times}
            case Rows():
                self._add_rows(arrivals, clock)
            case Advance():
                self._advance_clock(clock)
        return min(self._marks.values()) if len(self._marks) == len(self._times) else None

    def _add_rows(self, arrivals: Mapping[str, list[int]], clock: int) -> None:
        for source, times in arrivals.items():
            node = self._times[source]
            if isinstance(node, EventTime) and times and source not in self._fed and not node.watermark_when:
                self._touched[source] = clock
                self._highest[source] = max([*times, self._highest.get(source, times[0])])
                self._move(source, self._highest[source] - node.out_of_order)

    def _advance_clock(self, clock: int) -> None:
        for source, node in self._times.items():
            if isinstance(node, ClockTime):
                self._move(source, clock)
            elif node.idle is not None and source in self._touched:
                quiet = clock - self._touched[source]
                if quiet >= node.idle:
                    self._move(source, self._highest[source] + quiet - node.out_of_order)

    def _move(self, source: str, mark: int) -> None:
        if mark >= 1000:  # in whole milliseconds; 0 means no watermark
            self._marks[source] = max(mark // 1000 * 1000, self._marks.get(source, 0))
