"""The driving hours of a driver, checked against a rule that is data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace import Processor, state, timers


@dataclass(frozen=True)
class Rule:
    """The rule: minutes of driving after which a break is required, and its minimum minutes."""

    source: str
    driving_minutes: int
    break_minutes: int


RULE = Rule(**json.loads((Path(__file__).parent / "rule.json").read_text()))
"""Read where the pipeline is built; workers get it with the class."""


@dataclass
class Drive:
    """Driving since the last sufficient break."""

    legs: int = 0
    minutes: int = 0


class DrivingHours(Processor):
    """Reports each drive that is longer than the rule allows.

    Reports arrive out of order, so they wait until the watermark has passed them.
    """

    output = "licence string, legs int, minutes int, at timestamp"
    waiting: list[tuple[datetime, str, int]] = state.list()
    drive: Drive = state.value(Drive())
    passed = timers.event()

    def process(self, row: Any) -> None:
        self.waiting.append((row.ts, row.activity, row.minutes))
        self.passed.set(min(self.waiting)[0])

    def on_passed(self, at: datetime) -> Iterator[tuple[str, int, int, datetime]]:
        watermark = self.watermark or at
        for end, activity, minutes in sorted(row for row in self.waiting if row[0] <= watermark):
            yield from self._count(end, activity, minutes)
        self.waiting = [row for row in self.waiting if row[0] > watermark]
        if self.waiting:
            self.passed.set(min(self.waiting)[0])

    def _count(self, end: datetime, activity: str, minutes: int) -> Iterator[tuple[str, int, int, datetime]]:
        drive = self.drive
        if activity == "driving":
            drive = Drive(drive.legs + 1, drive.minutes + minutes)
            if drive.minutes > RULE.driving_minutes:
                yield self.key.licence, drive.legs, drive.minutes, end
                drive = Drive()
        elif minutes >= RULE.break_minutes:
            drive = Drive()
        self.drive = drive
