"""Patterns of a table of rules, which may change while the job runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.connectors.base import Connector
from headrace.patterns.elements import Order
from headrace.schemas.fields import Schema
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.patterns.match import diverted_outputs
from headrace.triggers import LateRows

FAULTS = "faults"
"""The output of what is wrong with rules that were read while the job ran."""


@dataclass(frozen=True)
class MatchRules(Node):
    """Finds the patterns of a table of rules, which may change while the job runs, in the rows of each key."""

    input: Ref
    keys: Named
    table: Connector | str
    """A table of a database, or the path of a file."""
    measures: Schema | None = None
    """What matches of all rules give; None for the matched rows."""
    order: Order = "event_time"
    longest: int | None = None
    """The longest `within` that a rule may have."""
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match_rules"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *diverted_outputs(timeouts=self.timeouts, late=self.late_rows), FAULTS)
