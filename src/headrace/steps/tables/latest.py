"""A stream as a table: the latest row of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import text
from headrace.steps.base import MAIN, Plan, Ref
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import Expression, describe_keys, names_of, stable_names, stable_text
from headrace.steps.facts import CHANGE, Facts, late_facts
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Condition, KeyColumns, Length
from headrace.steps.keyed import KeyedNode
from headrace.steps.tables.changelog import keyed_columns, row_columns
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful

VERSIONS = "versions"
"""The output with the history of a table, which joins at event time read."""


@dataclass(frozen=True)
class Latest(KeyedNode):
    """A table with the row of the highest event time of each key; for equal times, the later arrival."""

    delete_when: Expression | None = None
    """A row that satisfies it removes its key."""
    ttl: int | None = None
    """How long after its last row a key is kept, in microseconds; None: without limit."""
    verb: ClassVar[str] = "latest"
    duplicate_hint: ClassVar[str] = "rename the column before: the rows of a table have the column `change`"

    @property
    def row_inputs(self) -> tuple[Ref, ...]:
        return ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late", VERSIONS)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = inputs[0]
        if output == "late":
            return late_facts(facts)
        columns = keyed_columns(self.keys, row_columns(facts))
        table = replace(facts, schema=None, cdc=False, hold=0, fixed=(), keyed=False, grows=False)
        if output == VERSIONS:
            return replace(table, columns=columns, change="none")
        shown = None if columns is None else (*columns, CHANGE)
        return replace(table, columns=shown, change="table", table_key=names_of(self.keys))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        facts = plan.facts(self.input)
        yield from check_expressions([self.delete_when], facts.columns, "latest")
        if not facts.timed and not facts.cdc and facts.change != "table":
            hint = "add event_time(column), ingestion_time() or processing_time() before"
            yield Finding("latest needs rows with time", hint, ("latest",))
        if self.ttl is not None and not facts.timed:
            yield Finding("ttl needs rows with time", "add event_time(column) before", ("ttl", "latest"))

    def tier(self, plan: Plan) -> Tier:
        order = "commit order" if plan.facts(self.input).cdc else "event-time order"
        return Tier("kernel", f"keeps the last row of each key, in {order}")

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
            f"removed by a row with {self.delete_when}" if self.delete_when is not None else "",
            f"removed {text(self.ttl)} after its last row" if self.ttl is not None else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        deletes = None if self.delete_when is None else stable_text(self.delete_when)
        return {"keys": stable_names(self.keys), "delete_when": deletes, "ttl": self.ttl}


class LatestOptions(DocumentModel):
    """The value of `latest` in a document."""

    label = "latest"
    example = "such as {delete_when: price is null}"
    delete_when: Condition | None = Field(default=None, description="A row that satisfies it removes its key")
    ttl: Length | None = Field(default=None, description="Removes a key this long after its last row")


class LatestModel(StepModel):
    """`latest` in a document."""

    node = Latest
    key = "latest"
    keys: KeyColumns = Field(alias="key_by")
    options: LatestOptions = Field(alias="latest", description="Keeps the latest row of each key: a table")
