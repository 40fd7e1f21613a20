"""The working hours of a driver, checked against a rule that is data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headrace import Processor, state, timers


@dataclass(frozen=True)
class Rule:
    """Limits within any `hours`: the most minutes of work, and the fewest minutes of the longest break."""

    hours: int
    working_minutes: int
    break_minutes: int


RULE = Rule(**json.loads((Path(__file__).parent / "rule.json").read_text()))
"""Read where the pipeline is built; workers get it with the class."""

Violation = tuple[str, datetime, int, int]


class WorkingHours(Processor):
    """Reports each drop-off after which the last hours break the rule.

    Work is the time from a pick-up to its drop-off, a break the time between. Reports arrive out of order, so
    they wait until the watermark has passed them.
    """

    output = "licence string, at timestamp, working_minutes int, longest_break_minutes int"
    waiting: list[tuple[datetime, str]] = state.list()
    trips: list[tuple[datetime, datetime]] = state.list()
    picked_up: datetime | None = state.value()
    passed = timers.event()

    def process(self, row: Any) -> None:
        self.waiting.append((row.ts, row.event))
        self.passed.set(min(self.waiting)[0])

    def on_passed(self, at: datetime) -> Iterator[Violation]:
        watermark = self.watermark or at
        for time, event in sorted(row for row in self.waiting if row[0] <= watermark):
            if event == "pick_up":
                self.picked_up = time
            elif self.picked_up is not None:
                yield from self._end_trip(self.picked_up, time)
                self.picked_up = None
        self.waiting = [row for row in self.waiting if row[0] > watermark]
        if self.waiting:
            self.passed.set(min(self.waiting)[0])

    def _end_trip(self, start: datetime, end: datetime) -> Iterator[Violation]:
        since = end - timedelta(hours=RULE.hours)
        trips = [trip for trip in self.trips if trip[1] > since] + [(start, end)]
        starts = [max(begin, since) for begin, _ in trips]
        ends = [finish for _, finish in trips]
        working = sum(_minutes(*trip) for trip in zip(starts, ends, strict=True))
        longest = max(_minutes(*pause) for pause in zip([since, *ends], starts, strict=False))
        if working > RULE.working_minutes or longest < RULE.break_minutes:
            yield self.key.licence, end, working, longest
        self.trips = trips


def _minutes(start: datetime, end: datetime) -> int:
    return round((end - start) / timedelta(minutes=1))
