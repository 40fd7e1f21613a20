"""A pattern over the rows of each key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.triggers import LateRows


@dataclass(frozen=True)
class Match(Node):
    """Finds a pattern in the rows of each key. `select` is None for one array of rows for each step."""

    input: Ref
    keys: Named
    pattern: Pattern
    within: Within = field(default_factory=Within)
    skip: Skip = field(default_factory=Skip)
    order: Order = "event_time"
    select: Named | None = None
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *self._diverted)

    @property
    def _diverted(self) -> tuple[str, ...]:
        return diverted_outputs(timeouts=self.timeouts, late=self.late_rows)

    @property
    def narrow(self) -> bool:
        """Whether nobody sees whole rows, so that only the columns that are looked at are kept."""
        return self.select is not None and not self._diverted


def diverted_outputs(*, timeouts: LateRows, late: LateRows) -> tuple[str, ...]:
    """Return the names of the side outputs that a pattern diverts rows to."""
    return tuple(name for name, choice in (("timeouts", timeouts), ("late", late)) if choice == "divert")
