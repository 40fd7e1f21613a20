"""A union of streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import MinLen
from pydantic import Field

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.grammar.step import Inputs, Slot, StepModel
from headrace.steps.grammar.values import Expected, Reference
from headrace.steps.traits import Finding


@dataclass(frozen=True)
class Union(Node):
    """All rows of several streams; columns are matched by name."""

    streams: tuple[Ref, ...]
    verb: ClassVar[str] = "union"
    keeps_labels: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return self.streams

    def check(self, plan: Plan) -> Iterator[Finding]:
        if len({plan.facts(ref).timed for ref in self.streams}) > 1:
            what = "all streams of a union must have event time, or none"
            yield Finding(what, "add event_time to the others, or remove it")
        yield from self._check_kinds(plan)

    def _check_kinds(self, plan: Plan) -> Iterator[Finding]:
        """Reject changes beside rows if the column `change` would be null in the rows."""
        kinds: dict[str, Ref] = {}
        for ref in self.streams:
            kinds.setdefault(_kind(plan.facts(ref)), ref)
        if len(kinds) > 1:
            listed = ", ".join(f"`{ref}` is {kind}" for kind, ref in kinds.items())
            what = f"all inputs of a union must be tables, or none: {listed}"
            hint = "convert the others with key_by(...).latest(...), or read the stream behind the table"
            yield Finding(what, hint, ("union",))

    def description(self) -> list[str]:
        # A generated name is shown as the name of the step that it was derived from.
        return [" + ".join(str(Ref(ref.step.split(":")[0], ref.output)) for ref in self.streams)]


def _kind(facts: Facts) -> str:
    if facts.cdc:
        return "a CDC source"
    shown = facts.columns is None or CHANGE in facts.columns
    return "a table" if facts.change == "table" and shown else "a stream"


class UnionModel(StepModel):
    """`union` in a document."""

    node = Union
    key = "union"
    slot = Slot.UNION
    streams: Annotated[
        tuple[Reference, ...], MinLen(2), Expected("a list of two or more streams", "such as [big, home]")
    ] = Field(alias="union", description="Streams whose rows are combined")

    def build(self, name: str, inputs: Inputs) -> Union:
        """Return the node of the step."""
        return Union(name, inputs.refs)
