"""Named outputs by condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Expected, NamedExpressions


@dataclass(frozen=True)
class Route(Node):
    """Named outputs by condition: a row goes to the first whose condition holds."""

    input: Ref
    branches: Named
    verb: ClassVar[str] = "route"

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.branches)


class RouteModel(StepModel):
    """`route` in a document."""

    node = Route
    key = "route"
    branches: Annotated[
        NamedExpressions,
        Expected("outputs and conditions", "such as {foreign: country <> 'FI', rest: true}"),
    ] = Field(alias="route", description="Named outputs; a row goes to the first whose condition holds")
