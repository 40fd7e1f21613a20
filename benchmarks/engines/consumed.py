"""Rate of an engine, from samples of the events consumed over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

ALL = 1 << 62
"""The count of a sample taken when the job has ended."""


@dataclass(frozen=True)
class Consumed:
    """Events and seconds of the measured range, after the warm-up."""

    events: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds


def measure_range(samples: Sequence[tuple[float, int]], warm: int, events: int) -> Consumed:
    """Return the time for `events` after the first `warm`, from samples (seconds, events consumed).

    Interpolates linearly between two samples.

    >>> measure_range([(0.0, 0), (2.0, 100), (4.0, 300)], warm=100, events=100)
    Consumed(events=100, seconds=1.0)
    """
    return Consumed(events, _moment(samples, warm + events) - _moment(samples, warm))


def _moment(samples: Sequence[tuple[float, int]], count: int) -> float:
    for (before, fewer), (after, more) in pairwise(samples):
        if fewer <= count <= more:
            # The end of a job has no count: the last events may have been consumed at any time before.
            share = 1.0 if more == ALL else (count - fewer) / max(more - fewer, 1)
            return before + (after - before) * share
    raise ValueError(f"{count} events were never consumed; last samples: {list(samples[-3:])}")
