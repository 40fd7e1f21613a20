"""Running aggregates: tables with one row for each key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

from pydantic import Field

from headrace.steps.base import Plan
from headrace.steps.expression_checks import check_aggregates
from headrace.steps.expressions import (
    PythonFold,
    describe_columns,
    describe_keys,
    find_columns,
    names_of,
    stable_names,
    stable_texts,
)
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.values import Aggregates, KeyColumns
from headrace.steps.keyed import KeyedNode
from headrace.steps.stateful.rows_in_state import with_rows_in_state
from headrace.steps.stateful.updates import later_steps
from headrace.steps.tables.retractions import describe_retractions, has_retractions, with_kept_values
from headrace.steps.traits import Finding, StateBound, Tier

_DISTINCT = re.compile(r"\(\s*distinct\b", re.IGNORECASE)


@declare
class Aggregate(StepNode, KeyedNode):
    """A running aggregate: a table with one row for each key, updated in every micro-batch."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    aggregates: Annotated[Aggregates, Field(alias="aggregate")]

    verb: ClassVar[str] = "aggregate"
    key: ClassVar[str] = "aggregate"
    updates = True
    accepts_changes = True
    duplicate_hint: ClassVar[str] = "keys and aggregates need different names"

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window."""
        return "aggregate" in keys and "window" not in keys and "over" not in keys

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        keys = names_of(self.keys)
        fixed = tuple((name, (name,)) for name in keys)
        columns = (*keys, *names_of(self.aggregates))
        grows = not keys or not has_retractions(inputs[0])
        return Facts(columns, change="table", table_key=keys, fixed=fixed, keyed=True, grows=grows)

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
        if CHANGE in (name.lower() for name in (*names_of(self.keys), *names_of(self.aggregates))):
            what = f"a running aggregate is a table, whose changes are marked by the column `{CHANGE}`"
            yield Finding(what, f"rename the column `{CHANGE}`", ("aggregate",))
        yield from self._check_complete(plan)

    def _check_complete(self, plan: Plan) -> Iterator[Finding]:
        """Reject readers of changes beside a sink that gets all rows, which Spark's operator emits."""
        if not self.emits_all(plan):
            return
        if any(_DISTINCT.search(str(item)) for _, item in self.aggregates) and not has_retractions(
            plan.facts(self.input)
        ):
            what = (
                "mode complete runs on Spark's own aggregation, which has no distinct aggregates over streams"
            )
            yield Finding(what, "use mode update, or approx_count_distinct", ("aggregate",))
        if len({sink.mode or "update" for sink in plan.sinks_of(self)}) > 1:
            what = "its sinks have different modes"
            yield Finding(what, "set mode complete for all of them, or for none")
        if reader := next((step for step in later_steps(plan, self) if step.stateful), None):
            what = (
                f"a sink in mode complete and `{reader.name}` read it: one gets all rows, the other changes"
            )
            yield Finding(what, "use another mode, or an aggregate for each of the two")

    def emits_all(self, plan: Plan) -> bool:
        """Return True if every micro-batch emits all keys, for sinks in mode `complete`."""
        return any(sink.mode == "complete" for sink in plan.sinks_of(self))

    def tier(self, plan: Plan) -> Tier:
        retracts = has_retractions(plan.facts(self.input))
        removed = f"; removed rows: {describe_retractions(self.aggregates)}" if retracts else ""
        if self.emits_all(plan):
            return Tier("native", f"Spark's own aggregation{removed}")
        return Tier("kernel", f"keeps the aggregates of each key, and emits their changes{removed}")

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
