"""A union of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import MinLen
from pydantic import Field

from headrace.steps.base import Node, Ref
from headrace.steps.grammar.step import Inputs, Slot, StepModel
from headrace.steps.grammar.values import Expected, Reference


@dataclass(frozen=True)
class Union(Node):
    """All rows of several streams; columns are matched by name."""

    streams: tuple[Ref, ...]
    verb: ClassVar[str] = "union"

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return self.streams


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
