"""Totals of the calls of a step: their number, their seconds and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import Accumulator


@dataclass(frozen=True)
class ShadowTotals:
    """How far the results of a second model are from those of a step, summed over all tasks."""

    rows: Accumulator[int]
    disagreements: Accumulator[int]
    distance: Accumulator[float]
    errors: Accumulator[int]

    def add(self, rows: int, *, disagreements: int = 0, distance: float = 0.0, errors: int = 0) -> None:
        """Add a batch, in a worker."""
        self.rows.add(rows)
        self.disagreements.add(disagreements)
        self.distance.add(distance)
        self.errors.add(errors)

    def values(self) -> dict[str, float]:
        """Return the sums, in the driver."""
        return {
            "shadow_rows": self.rows.value,
            "shadow_disagreements": self.disagreements.value,
            "shadow_distance": self.distance.value,
            "shadow_errors": self.errors.value,
        }


@dataclass(frozen=True)
class CallTotals:
    """The sums of one step over all tasks; a task that is repeated counts twice."""

    calls: Accumulator[int]
    seconds: Accumulator[float]
    errors: Accumulator[int]
    shadow: ShadowTotals | None = None

    def add(self, calls: int, seconds: float, errors: int) -> None:
        """Add calls, in a worker."""
        self.calls.add(calls)
        self.seconds.add(seconds)
        self.errors.add(errors)

    def values(self) -> dict[str, float]:
        """Return the sums, in the driver."""
        own = {"calls": self.calls.value, "seconds": self.seconds.value, "errors": self.errors.value}
        return own if self.shadow is None else own | self.shadow.values()
