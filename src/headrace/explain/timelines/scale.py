"""The axis of event time: its range, its ticks and its labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.durations import NEAR_EPOCH, format_seconds
from headrace.explain.timelines.recording import FOREVER, Recording

SECOND = 1_000_000
_STEPS = [
    *(n * 10**power for power in range(6) for n in (1, 2, 5)),
    *(n * SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * 60 * SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * 3600 * SECOND for n in (1, 2, 3, 6, 12)),
    *(n * 86_400 * SECOND for n in (1, 2, 5, 10, 30, 100, 365, 1000, 3650)),
]
ROOM = 0.04
"""Margin on either side, as a share of the width."""
REACH = 0.3
"""How far the watermark may extend the axis beyond rows and windows; a later one is drawn at the edge."""
MOST_TICKS = 12


@dataclass(frozen=True)
class Scale:
    """Times `first` to `last`, in microseconds, over the pixels `left` to `right`."""

    first: float
    last: float
    left: float
    right: float

    def x(self, micros: float | None, *, otherwise: float = 0.0) -> float:
        """Return the position of a time, clamped to the axis; `otherwise` if there is no time."""
        if micros is None:
            return otherwise
        share = (micros - self.first) / (self.last - self.first)
        return self.left + max(0.0, min(1.0, share)) * (self.right - self.left)

    def ticks(self) -> list[int]:
        """Return the times with a grid line: round ones, at most a dozen."""
        step = next((s for s in _STEPS if (self.last - self.first) / s <= MOST_TICKS), _STEPS[-1])
        start = -int(-self.first // step)
        return [n * step for n in range(start, int(self.last // step) + 1)]

    def text(self, micros: int) -> str:
        """Format the time of a grid line."""
        if abs(micros) < NEAR_EPOCH:
            return format_seconds(micros)
        moment = datetime.fromtimestamp(micros / SECOND, tz=UTC)
        whole = micros % SECOND == 0
        return moment.strftime("%H:%M:%S" if whole else "%H:%M:%S.%f")

    @property
    def unit(self) -> str:
        """The label of the axis: a unit, or the day of calendar times."""
        if abs(self.first) < NEAR_EPOCH:
            return "event time, seconds"
        return f"{datetime.fromtimestamp(self.first / SECOND, tz=UTC):%Y-%m-%d}, UTC"


def scale_of(recording: Recording, left: float, right: float) -> Scale:
    """Return the scale that shows all rows and windows, and the watermark unless it is far away."""
    times = _times(recording) or [0, 10 * SECOND]
    first, last = min(times), max(times)
    span = (last - first) or SECOND
    marks = [m.watermark for m in recording.moments if m.watermark is not None and m.watermark < FOREVER]
    last = max([last, *(min(mark, last + round(span * REACH)) for mark in marks)])
    room = (last - first or SECOND) * ROOM
    return Scale(first - room, last + room, left, right)


def _times(recording: Recording) -> list[int]:
    bounds: Iterable[int | None] = (
        *(row.at for row in recording.rows),
        *(side for pane in recording.panes for side in (pane.start, pane.end)),
    )
    return [time for time in bounds if time is not None]
