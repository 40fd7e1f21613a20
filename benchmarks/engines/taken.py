"""What every engine is measured by: how many events it had taken at which moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

ALL = 1 << 62
"""Stands for the number of events where a job has come to its end."""


@dataclass(frozen=True)
class Taken:
    """What was measured: so many events in so many seconds, after the warm-up, in the same run."""

    events: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds


def measured(seen: Sequence[tuple[float, int]], warm: int, events: int) -> Taken:
    """From (moment in seconds, events taken until then): the time for `events` after the first `warm`.

    Between two moments events are thought to have come evenly.

    >>> measured([(0.0, 0), (2.0, 100), (4.0, 300)], warm=100, events=100)
    Taken(events=100, seconds=1.0)
    """
    return Taken(events, _moment(seen, warm + events) - _moment(seen, warm))


def _moment(seen: Sequence[tuple[float, int]], count: int) -> float:
    for (before, fewer), (after, more) in pairwise(seen):
        if fewer <= count <= more:
            # The end of a job is no count: the last events may have come at any time before it.
            share = 1.0 if more == ALL else (count - fewer) / max(more - fewer, 1)
            return before + (after - before) * share
    raise ValueError(f"{count} events were never taken; the last that was seen: {list(seen[-3:])}")
