"""The axis of event time: which times are shown, where they are, and at which of them a line is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.testing.drawing.recording import FOREVER, Recording
from headrace.testing.transcripts.outputs import NEAR, Instant

SECOND = 1_000_000
_STEPS = [
    *(n * 10**power for power in range(6) for n in (1, 2, 5)),
    *(n * SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * 60 * SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * 3600 * SECOND for n in (1, 2, 3, 6, 12)),
    *(n * 86_400 * SECOND for n in (1, 2, 5, 10, 30, 100, 365, 1000, 3650)),
]
ROOM = 0.04
"""How much is left free at either side, of the whole."""
REACH = 0.3
"""How far the watermark may stretch the axis beyond rows and windows; further ones stand at its edge."""
MOST_TICKS = 12


@dataclass(frozen=True)
class Scale:
    """Times `first` to `last`, in microseconds, over the pixels `left` to `right`."""

    first: float
    last: float
    left: float
    right: float

    def x(self, micros: float | None, *, otherwise: float = 0.0) -> float:
        """Where a time is, at an edge if it is beyond it; `otherwise` where there is no time."""
        if micros is None:
            return otherwise
        share = (micros - self.first) / (self.last - self.first)
        return self.left + max(0.0, min(1.0, share)) * (self.right - self.left)

    def ticks(self) -> list[int]:
        """The times that get a line: round ones, at most a dozen."""
        step = next((s for s in _STEPS if (self.last - self.first) / s <= MOST_TICKS), _STEPS[-1])
        start = -int(-self.first // step)
        return [n * step for n in range(start, int(self.last // step) + 1)]

    def text(self, micros: int) -> str:
        """A time beside its line."""
        if abs(micros) < NEAR:
            return str(Instant(micros))
        moment = datetime.fromtimestamp(micros / SECOND, tz=UTC)
        whole = micros % SECOND == 0
        return moment.strftime("%H:%M:%S" if whole else "%H:%M:%S.%f")

    @property
    def unit(self) -> str:
        """What the axis is called: the day, where times are of a calendar."""
        if abs(self.first) < NEAR:
            return "event time, seconds"
        return f"{datetime.fromtimestamp(self.first / SECOND, tz=UTC):%Y-%m-%d}, UTC"


def scale_of(recording: Recording, left: float, right: float) -> Scale:
    """The scale that shows all rows and windows, and the watermark unless it is far away."""
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
