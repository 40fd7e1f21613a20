"""Deduplication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from headrace.durations import text
from headrace.steps.base import MAIN, Plan, out_of_order
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.values import Length, Names
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier, unknown_columns
from headrace.steps.unrouted import note_stateful


@declare
class Distinct(StepNode):
    """Drops duplicate rows: those that repeat columns of an earlier row less than `within` apart."""

    input: Input
    on: Names
    """The columns that identify a row."""
    within: Length | None = None
    """How far apart in event time duplicates can be."""

    verb: ClassVar[str] = "distinct"
    key: ClassVar[str] = "distinct"
    nested: ClassVar[bool] = True
    label: ClassVar[str] = "distinct"
    example: ClassVar[str] = "such as {on: [id], within: 10 minutes}"
    short: ClassVar[str] = "on"
    stateful = True

    @property
    def key_names(self) -> tuple[str, ...]:
        return self.on

    @property
    def needs_time(self) -> bool:
        return self.within is not None

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.within is not None else (MAIN,)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return late_facts(inputs[0]) if output == "late" else replace(inputs[0], hold=0)

    def check(self, plan: Plan) -> Iterator[Finding]:
        columns = plan.facts(self.input).columns
        yield from unknown_columns(self.on, columns, "distinct", ("on", "distinct"))

    def tier(self, plan: Plan) -> Tier:
        late = "" if self.within is None else "; late rows go to .late"
        return Tier("kernel", f"the first in arrival order is kept{late}")

    def state_bound(self, plan: Plan) -> StateBound:
        on = ", ".join(self.on)
        if self.within is None:
            kept = f"one entry for each {on}, never expired"
            return StateBound(kept, f"the distinct values of {on}", "set within=")
        return StateBound(f"one entry for each {on}, for {text(2 * self.within + out_of_order(plan, self))}")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        within = f"within {text(self.within)}" if self.within is not None else "for ever"
        return [f"on {', '.join(self.on)}", within]

    def state_fields(self) -> Mapping[str, Any]:
        return {"on": list(self.on), "within": self.within}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        return self.on
