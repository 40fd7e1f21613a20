"""Totals of the calls of a step: their number, their seconds and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Sum(Protocol):
    """A sum over the tasks of a run, such as Spark's accumulator."""

    value: Any

    def add(self, term: Any) -> None:
        """Add to the sum."""


@dataclass(frozen=True)
class CallTotals:
    """The sums of one step, if any; a task that is repeated counts twice."""

    calls: Sum | None = None
    seconds: Sum | None = None
    errors: Sum | None = None

    def add(self, calls: int, seconds: float, errors: int) -> None:
        """Add calls, in a worker."""
        if self.calls is not None and self.seconds is not None and self.errors is not None:
            self.calls.add(calls)
            self.seconds.add(seconds)
            self.errors.add(errors)

    def values(self) -> dict[str, Any]:
        """Return the sums, in the driver."""
        sums = {"calls": self.calls, "seconds": self.seconds, "errors": self.errors}
        return {name: item.value for name, item in sums.items() if item is not None}
