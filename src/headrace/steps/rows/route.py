"""Named outputs by condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expression_checks import check_named
from headrace.steps.expressions import Named, names_of
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Expected, NamedExpressions
from headrace.steps.traits import Finding


@dataclass(frozen=True)
class Route(Node):
    """Sends a row to the first output whose condition holds."""

    input: Ref
    branches: Named
    verb: ClassVar[str] = "route"
    drops_rows: ClassVar[bool] = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return names_of(self.branches)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_named(self.branches, plan.facts(self.input).columns, "route")

    def description(self) -> list[str]:
        return [f"{name} if {condition}" for name, condition in self.branches]


class RouteModel(StepModel):
    """`route` in a document."""

    node = Route
    key = "route"
    branches: Annotated[
        NamedExpressions,
        Expected("outputs and conditions", "such as {foreign: country <> 'FI', rest: true}"),
    ] = Field(alias="route", description="Named outputs; a row goes to the first whose condition holds")
