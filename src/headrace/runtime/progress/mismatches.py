"""Mismatches of row accounting: rows of an epoch that a step or a sink has not accounted for."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

MAX_STORED = 100
"""The number of recent mismatches that are stored; `count` includes all."""

_log = logging.getLogger("headrace")


@dataclass(frozen=True)
class Mismatch:
    """A mismatch of row accounting in one epoch.

    >>> print(Mismatch("alerts", 7, 100, 99))
    `alerts`, epoch 7: expected 100 rows, 99 are accounted for
    """

    step: str
    epoch: int
    expected: int
    actual: int

    def __str__(self) -> str:
        return f"`{self.step}`, epoch {self.epoch}: expected {self.expected:,} rows, " + (
            f"{self.actual:,} are accounted for"
        )


class Mismatches:
    """The mismatches of one query in one run."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[Mismatch] = deque(maxlen=MAX_STORED)

    def compare(self, step: str, epoch: int, expected: int, actual: int) -> None:
        """Record a mismatch if the numbers differ."""
        if expected == actual:
            return
        mismatch = Mismatch(step, epoch, expected, actual)
        self.count += 1
        self._last.append(mismatch)
        _log.error("rows do not add up: %s", mismatch)

    def __iter__(self) -> Iterator[Mismatch]:
        return iter(tuple(self._last))
