"""A join of two streams whose event times are within bounds of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import text
from headrace.errors import require_choice
from headrace.steps.base import Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_pair_expressions
from headrace.steps.expressions import Expression, describe_columns, expression_of, stable_text
from headrace.steps.facts import Facts
from headrace.steps.joins.bounds import Bounds, Within, WithinValue, bounds_of, format_bound
from headrace.steps.joins.grammar import HowValue, JoinModel, JoinOnOptions, SelectValue, WhereValue
from headrace.steps.joins.sides import How, JoinOn, describe_on, key_pairs_of, selection_of
from headrace.steps.traits import Finding, StateBound


@dataclass(frozen=True)
class IntervalJoin(JoinOn):
    """Joins rows of two streams with equal keys and `lower <= right.ts - left.ts <= upper`."""

    within: Bounds
    how: How = "inner"
    where: Expression | None = None
    verb: ClassVar[str] = "join"

    @property
    def omits_right(self) -> bool:
        return self.how in ("semi", "anti")

    @property
    def retention(self) -> tuple[int, int]:
        """The times that left and right rows wait for a partner, in microseconds."""
        lower, upper = self.within
        return max(upper, 0), max(-lower, 0)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = super().output_facts(output, inputs)
        hold = 0 if self.how == "inner" else max(self.retention)  # a pair has the later time of the two
        return facts if output else replace(facts, hold=hold)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        yield from check_pair_expressions([self.where], self.sides(plan), "where")

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self)
        left, right = (text(wait + behind) for wait in self.retention)
        return StateBound(f"left rows for {left} and right rows for {right}, by event time")

    def description(self) -> list[str]:
        lower, upper = self.within
        bounds = f"right - left from {format_bound(lower)} to {format_bound(upper)}"
        return [
            f"{self.how} join with {self.other}",
            describe_on(self.on),
            f"within {text(upper)}" if -lower == upper else bounds,
            f"where {self.where}" if self.where is not None else "",
            describe_columns(self.select) if self.select else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "on": [list(pair) for pair in self.on],
            "lower": self.within[0],
            "upper": self.within[1],
            "how": self.how,
            "where": None if self.where is None else stable_text(self.where),
        }


def interval_join(
    name: str,
    left: Ref,
    right: Ref,
    *,
    on: Any,
    within: Within,
    how: How = "inner",
    where: Any = None,
    select: Mapping[str, Any] | None = None,
) -> IntervalJoin:
    """Return the node of a join.

    Raises:
        OptionError: an option has an invalid value.
    """
    place = f"`{name}`"
    require_choice(how, How, "how", place)
    condition = None if where is None else expression_of(where, place)
    bounds = bounds_of(within, f"{place}: within")
    chosen = selection_of(select, place)
    return IntervalJoin(name, left, right, key_pairs_of(on, place), bounds, how, condition, select=chosen)


class IntervalJoinOptions(JoinOnOptions):
    """The value of `join` in a document."""

    example = "such as {with: clicks, on: user, within: 15 minutes}"
    within: WithinValue = Field(description="The distance of event times, or bounds of right - left")
    how: HowValue = "inner"
    where: WhereValue = None
    select: SelectValue = None


class IntervalJoinModel(JoinModel):
    """`join` with a stream in a document."""

    node = IntervalJoin
    options: IntervalJoinOptions = Field(alias="join", description="Joins with another stream")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True with `within` and without a window; without `within` it is a join with a table."""
        options = keys.get("join")
        with_table = isinstance(options, Mapping) and "within" not in options
        return "join" in keys and "window" not in keys and not with_table
