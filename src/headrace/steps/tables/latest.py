"""A stream as a table: the latest row of each key, by event time or in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from headrace.durations import text
from headrace.steps.base import MAIN, Plan, Ref
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import describe_keys, names_of, stable_names, stable_text
from headrace.steps.facts import CHANGE, Facts, late_facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.values import KeyColumns, Length, SqlExpression
from headrace.steps.keyed import KeyedNode
from headrace.steps.tables.changelog import keyed_columns, row_columns
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful

LatestOrder = Literal["event_time", "arrival"]
VERSIONS = "versions"
"""The output with the history of a table, which joins at event time read."""


@declare
class Latest(StepNode, KeyedNode):
    """Keeps the latest row of each key: a table.

    It is the row of the highest event time; for equal times, the later arrival. In the order of arrival, and
    over the changes of a source, it is the last row to arrive.
    """

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")]
    delete_when: SqlExpression | None = None
    """A row that satisfies it removes its key."""
    ttl: Length | None = None
    """Removes a key this long after its last row."""
    order: LatestOrder | None = None
    """`event_time` or `arrival`: which of two rows of a key is the later one; default: by event time if the
    rows have one."""

    verb: ClassVar[str] = "latest"
    key: ClassVar[str] = "latest"
    nested: ClassVar[bool] = True
    beside: ClassVar[Mapping[str, Any]] = {"keys": "_"}
    label: ClassVar[str] = "latest"
    example: ClassVar[str] = "such as {delete_when: price is null}"
    applies_changes: ClassVar[bool] = True
    duplicate_hint: ClassVar[str] = "rename the column before: the rows of a table have the column `change`"

    @property
    def row_inputs(self) -> tuple[Ref, ...]:
        return ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late", VERSIONS)

    def by_arrival(self, facts: Facts) -> bool:
        """Return True if the last row to arrive is the latest one, whatever its event time."""
        if self.order is not None:
            return self.order == "arrival"
        return facts.cdc or facts.delivered or not facts.timed

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = inputs[0]
        if output == "late":
            return late_facts(facts)
        columns = keyed_columns(self.keys, row_columns(facts))
        table = replace(facts, schema=None, cdc=False, delivered=False, hold=0)
        table = replace(table, fixed=(), keyed=False, grows=False)
        if output == VERSIONS:
            return replace(table, columns=columns, change="none")
        shown = None if columns is None else (*columns, CHANGE)
        return replace(table, columns=shown, change="table", table_key=names_of(self.keys))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        facts = plan.facts(self.input)
        yield from check_expressions([self.delete_when], facts.columns, "latest")
        if self.order == "event_time" and not facts.timed:
            hint = "add event_time(column) before, or use the order of arrival"
            yield Finding("latest by event time needs rows with time", hint, ("order", "latest"))
        if self.order == "event_time" and (facts.cdc or facts.delivered):
            hint = "remove order: the changes of a source are applied in the order of arrival"
            yield Finding("changes cannot be applied by event time", hint, ("order", "latest"))
        if self.ttl is not None and not facts.timed:
            yield Finding("ttl needs rows with time", "add event_time(column) before", ("ttl", "latest"))

    def tier(self, plan: Plan) -> Tier:
        facts = plan.facts(self.input)
        order = "arrival order" if self.by_arrival(facts) else "event-time order"
        return Tier("kernel", f"keeps the last row of each key, in {'commit order' if facts.cdc else order}")

    def state_bound(self, plan: Plan) -> StateBound:
        keys = self.key_text
        if self.ttl is not None:
            return StateBound(f"one row for each {keys}, removed {text(self.ttl)} after its last row")
        return StateBound(
            f"one row for each {keys}, never expired", f"the distinct values of {keys}", "set ttl="
        )

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        return [
            "the latest row",
            describe_keys(self.keys),
            "in the order of arrival" if self.order == "arrival" else "",
            f"removed by a row with {self.delete_when}" if self.delete_when is not None else "",
            f"removed {text(self.ttl)} after its last row" if self.ttl is not None else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        deletes = None if self.delete_when is None else stable_text(self.delete_when)
        order = {"order": self.order} if self.order is not None else {}
        return {"keys": stable_names(self.keys), "delete_when": deletes, "ttl": self.ttl, **order}
