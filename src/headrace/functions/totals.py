"""Totals of the calls of a step: their number, their seconds and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import Accumulator


@dataclass(frozen=True)
class CallTotals:
    """The sums of one step over all tasks; a task that is repeated counts twice."""

    calls: Accumulator[int]
    seconds: Accumulator[float]
    errors: Accumulator[int]

    def add(self, calls: int, seconds: float, errors: int) -> None:
        """Add calls, in a worker."""
        self.calls.add(calls)
        self.seconds.add(seconds)
        self.errors.add(errors)

    def values(self) -> dict[str, float]:
        """Return the sums, in the driver."""
        return {"calls": self.calls.value, "seconds": self.seconds.value, "errors": self.errors.value}
