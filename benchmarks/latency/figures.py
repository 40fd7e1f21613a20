"""Percentiles of the latencies of a trial, over all rows and without those that waited for the end of a batch.

When a real-time batch ends, offsets and state are committed and rows wait. The longest time without output
around a commit is its *pause*. A row met the pause if it was in flight during it, or was sent while the backlog
was processed, for which a pause counts twice its length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BEFORE, AFTER = 3_000, 5_000
"""Milliseconds before and after a commit to search for its pause."""

Row = tuple[int, int]
"""Times of sending a record and of writing its result, in milliseconds since 1970."""


@dataclass(frozen=True)
class Shares:
    """Percentiles of the milliseconds from produced to written."""

    results: int
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Shares:
        """Return the percentiles of rows; zeros if there are none."""
        times = sorted(written - sent for sent, written in rows) or [0]
        return cls(
            len(rows),
            *(times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.95, 0.99, 1)),
        )


@dataclass(frozen=True)
class Latency:
    """The latencies of one trial."""

    mode: str
    kind: str
    rate: int
    reached: float
    """Records sent per second, which may be less than the requested rate."""
    all: Shares
    between: Shares
    """Rows that met no pause."""
    met: Shares
    """Rows that met a pause."""
    pauses: tuple[int, ...]
    """Length of the pause around each commit, in milliseconds."""
    fed: Shares
    """From sent to stored in the input topic: the part of the producer and the broker. High values indicate a
    busy machine.
    """


def pauses(rows: Sequence[Row], commits: Sequence[float]) -> list[Row]:
    """Return begin and end of the longest time without a result around each commit."""
    written = sorted(at for _, at in rows)
    measured = []
    for commit in commits:
        near = written[bisect_left(written, commit - BEFORE) : bisect_right(written, commit + AFTER)]
        if len(near) > 1:
            measured.append(max(pairwise(near), key=lambda gap: gap[1] - gap[0]))
    return measured


def split_by_pause(rows: Sequence[Row], gaps: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Split rows into those that met no pause and those that did."""
    between: list[Row] = []
    met: list[Row] = []
    for sent, written in rows:
        held = any(sent <= end + (end - begin) and written >= end for begin, end in gaps)
        (met if held else between).append((sent, written))
    return between, met
