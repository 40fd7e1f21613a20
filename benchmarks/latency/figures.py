"""What a trial's results say.

Shares of the latencies, over all rows and without those that met the end of a batch.

A run in real time ends a batch now and then, and commits offsets and state; meanwhile its rows wait. Around
each commit the longest time in which nothing was written is the *pause*. A row met it if it was on its way
during the pause, or came while what had waited was caught up, for which a pause gets as long again as it was.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BEFORE, AFTER = 3_000, 5_000
"""Milliseconds around a commit in which its pause is looked for."""

Row = tuple[int, int]
"""When a record was sent and when its result was written, in milliseconds since 1970."""


@dataclass(frozen=True)
class Shares:
    """Milliseconds from produced to written, over so many results."""

    results: int
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Shares:
        """The shares of some rows; zeros where there are none."""
        times = sorted(written - sent for sent, written in rows) or [0]
        return cls(
            len(rows),
            *(times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.95, 0.99, 1)),
        )


@dataclass(frozen=True)
class Latency:
    """One trial."""

    mode: str
    kind: str
    rate: int
    reached: float
    """Records sent per second, which may be less than the rate that was asked for."""
    all: Shares
    between: Shares
    """Of the rows that met no end of a batch."""
    met: Shares
    """Of the rows that met one."""
    pauses: tuple[int, ...]
    """How long nothing was written around each commit, in milliseconds."""
    fed: Shares
    """From sent to in the input's topic: what of the time is the benchmark's own and the broker's, and if
    that is much, the machine's, which then has other work to do.
    """


def pauses(rows: Sequence[Row], commits: Sequence[float]) -> list[Row]:
    """The longest time without a result around each commit: from when to when."""
    written = sorted(at for _, at in rows)
    measured = []
    for commit in commits:
        near = written[bisect_left(written, commit - BEFORE) : bisect_right(written, commit + AFTER)]
        if len(near) > 1:
            measured.append(max(pairwise(near), key=lambda gap: gap[1] - gap[0]))
    return measured


def told_apart(rows: Sequence[Row], gaps: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that met no pause, and those that did."""
    between: list[Row] = []
    met: list[Row] = []
    for sent, written in rows:
        held = any(sent <= end + (end - begin) and written >= end for begin, end in gaps)
        (met if held else between).append((sent, written))
    return between, met
