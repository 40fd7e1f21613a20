"""As-of joins: each left row with the right row that is closest in event time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from headrace.durations import Duration, microseconds, text
from headrace.errors import require_choice
from headrace.steps.base import Plan, Ref, out_of_order
from headrace.steps.expressions import describe_columns
from headrace.steps.facts import Facts
from headrace.steps.grammar.values import Length
from headrace.steps.joins.grammar import JoinModel, JoinOnOptions, SelectValue
from headrace.steps.joins.sides import JoinOn, describe_on, key_pairs_of, selection_of
from headrace.steps.traits import Finding, StateBound

Direction = Literal["backward", "forward", "nearest"]
AsOfHow = Literal["left", "inner"]
_PARTNERS = {
    "backward": "the last right row at or before it",
    "forward": "the first right row at or after it",
    "nearest": "the nearest right row",
}


@dataclass(frozen=True)
class AsOfJoin(JoinOn):
    """Joins each left row with the right row of the same key that is closest in event time."""

    direction: Direction = "backward"
    tolerance: int | None = None
    how: AsOfHow = "left"
    verb: ClassVar[str] = "join_as_of"
    delay_hint: ClassVar[str] = "set tolerance= of the as-of join"

    @property
    def waits_unbounded(self) -> bool:
        """True if the time that a left row waits has no bound."""
        return self.direction != "backward" and self.tolerance is None

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = super().output_facts(output, inputs)
        return facts if output else replace(facts, hold=0 if self.direction == "backward" else self.tolerance)

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self.waits_unbounded:
            what = f"without a tolerance, `{self.direction}` stores a row until a later right row arrives"
            yield Finding(what, "set tolerance=")

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self)
        keys = ", ".join(left for left, _ in self.on)
        if self.waits_unbounded:
            kept = f"the rows of each {keys} that wait for a right row"
            return StateBound(kept, "the left rows without a later right row", "set tolerance=")
        rows = f"the rows of the last {text(behind)}" if behind else "the rows at the watermark"
        if self.tolerance is not None:
            return StateBound(f"the rows of each {keys} of the last {text(self.tolerance + behind)}")
        kept = f"the latest right row of each {keys}, never expired, and {rows}"
        return StateBound(kept, f"the distinct values of {keys}", "set tolerance=")

    def description(self) -> list[str]:
        return [
            f"each row with {_PARTNERS[self.direction]}, of {self.other}",
            describe_on(self.on),
            f"at most {text(self.tolerance)} away" if self.tolerance is not None else "",
            "" if self.how == "left" else "drops rows without a partner",
            describe_columns(self.select) if self.select else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "on": [list(pair) for pair in self.on],
            "direction": self.direction,
            "tolerance": self.tolerance,
        }


def as_of_join(
    name: str,
    left: Ref,
    right: Ref,
    *,
    on: Any,
    direction: Direction = "backward",
    tolerance: Duration | None = None,
    how: AsOfHow = "left",
    select: Mapping[str, Any] | None = None,
) -> AsOfJoin:
    """Return the node of an as-of join.

    Raises:
        OptionError: an option has an invalid value.
    """
    place = f"`{name}`"
    require_choice(direction, Direction, "direction", place)
    require_choice(how, AsOfHow, "how", place)
    distance = None if tolerance is None else microseconds(tolerance, where=f"{place}: tolerance")
    chosen = selection_of(select, place)
    return AsOfJoin(name, left, right, key_pairs_of(on, place), direction, distance, how, select=chosen)


class AsOfJoinOptions(JoinOnOptions):
    """The value of `join_as_of` in a document."""

    label = "join_as_of"
    example = "such as {with: prices, on: symbol, tolerance: 1 hour}"
    direction: Direction = Field(
        default="backward", description="The direction in event time in which a partner is searched"
    )
    tolerance: Length | None = Field(default=None, description="The maximum distance of a partner")
    how: AsOfHow = Field(
        default="left", description="`left`: a row without a partner passes; `inner`: it is dropped"
    )
    select: SelectValue = None


class AsOfJoinModel(JoinModel):
    """`join_as_of` in a document."""

    node = AsOfJoin
    key = "join_as_of"
    options: AsOfJoinOptions = Field(
        alias="join_as_of", description="Adds the row of another stream that is closest in event time"
    )
