"""Running aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from headrace.steps.base import Plan
from headrace.steps.expression_checks import check_aggregates
from headrace.steps.expressions import (
    Named,
    PythonFold,
    describe_columns,
    describe_keys,
    find_columns,
    names_of,
    stable_names,
    stable_texts,
)
from headrace.steps.facts import Facts
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Aggregates, KeyColumns
from headrace.steps.keyed import KeyedNode
from headrace.steps.stateful.rows_in_state import with_rows_in_state
from headrace.steps.tables.retractions import describe_retractions, has_retractions, with_kept_values
from headrace.steps.traits import Finding, StateBound, Tier


@dataclass(frozen=True)
class Aggregate(KeyedNode):
    """A running aggregate: one row for each key, updated in every micro-batch."""

    aggregates: Named
    verb: ClassVar[str] = "aggregate"
    updates = True
    accepts_changes = True
    duplicate_hint: ClassVar[str] = "keys and aggregates need different names"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return Facts(columns=(*names_of(self.keys), *names_of(self.aggregates)), change="updates")

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        yield from check_aggregates(self.aggregates, self.keys, plan.facts(self.input).columns)
        for name, item in self.aggregates:
            if isinstance(item, PythonFold):
                yield Finding(
                    f"`{name}` is an aggregate in Python, which stores the values of all rows; a running "
                    "aggregate never ends",
                    "add a window, or use Spark SQL",
                    ("aggregate",),
                )
        if len({sink.mode or "update" for sink in plan.sinks_of(self)}) > 1:
            what = "its sinks have different modes"
            yield Finding(what, "set the same mode, update or complete, for all of them")

    def emits_all(self, plan: Plan) -> bool:
        """Return True if every micro-batch emits all keys, for sinks in mode `complete`."""
        return any(sink.mode == "complete" for sink in plan.sinks_of(self))

    def tier(self, plan: Plan) -> Tier:
        if not has_retractions(plan.facts(self.input)):
            return Tier("native", "Spark's own aggregation")
        removed = f"removed rows: {describe_retractions(self.aggregates)}"
        if self.emits_all(plan):
            return Tier("native", f"Spark's own aggregation; {removed}")
        return Tier("kernel", removed)

    def state_bound(self, plan: Plan) -> StateBound:
        if has_retractions(plan.facts(self.input)):
            kept = f"one row for each {self.key_text} that has rows" if self.keys else "one row"
            return with_kept_values(StateBound(kept, "the rows of its input"), self.aggregates)
        if not self.keys:
            return with_rows_in_state(StateBound("one row"), self.aggregates)
        bound = StateBound(
            f"one row for each {self.key_text}, never expired",
            f"the distinct values of {self.key_text}",
            "use a window, or window(windows.global_window(), ttl=...) to expire idle ones",
        )
        return with_rows_in_state(bound, self.aggregates)

    def description(self) -> list[str]:
        return ["running", describe_keys(self.keys), describe_columns(self.aggregates)]

    def state_fields(self) -> Mapping[str, Any]:
        return {"keys": stable_names(self.keys), "aggregates": stable_texts(self.aggregates)}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        return find_columns(columns, [*stable_texts(self.keys), *stable_texts(self.aggregates)])


class AggregateModel(StepModel):
    """`aggregate` without `window` in a document."""

    node = Aggregate
    key = "aggregate"
    keys: KeyColumns = Field(default=(), alias="key_by")
    aggregates: Aggregates = Field(alias="aggregate")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window."""
        return "aggregate" in keys and "window" not in keys
