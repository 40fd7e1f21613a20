"""A join of two streams inside windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import text
from headrace.errors import require_choice
from headrace.steps.base import Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_expressions, check_pair_expressions
from headrace.steps.expressions import (
    Expression,
    Named,
    describe_columns,
    describe_keys,
    expression_of,
    stable_names,
    stable_text,
)
from headrace.steps.facts import Facts, plain_column
from headrace.steps.grammar.values import KeyColumns
from headrace.steps.joins.grammar import HowValue, JoinModel, JoinOptions, SelectValue, WhereValue
from headrace.steps.joins.sides import How, On, TwoInputs, selection_of
from headrace.steps.traits import Finding, StateBound
from headrace.windows import AnyWindow, Attached, Cumulating, Sliding, Tumbling, Window

WINDOW = "window"


@dataclass(frozen=True)
class WindowJoin(TwoInputs):
    """Joins rows of two streams with equal keys in the same window, when the window closes."""

    keys: Named
    window: Window
    how: How = "inner"
    where: Expression | None = None
    verb: ClassVar[str] = "join"

    @property
    def key_pairs(self) -> On:
        columns = [column for _, key in self.keys if (column := plain_column(key)) is not None]
        if isinstance(self.window, Attached):
            columns += [column for column in self.window.columns if column not in columns]
        return tuple((column, column) for column in columns)

    @property
    def omits_right(self) -> bool:
        return self.how in ("semi", "anti")

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = super().output_facts(output, inputs)
        if output or facts.columns is None or WINDOW in facts.columns:
            return facts
        return replace(facts, columns=(*facts.columns, WINDOW))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        sides = self.sides(plan)
        yield from check_pair_expressions([self.where], sides, "where")
        computed = [key for _, key in self.keys if plain_column(key) is None]
        for columns in super().sides(plan).values():
            yield from check_expressions(computed, columns, "key_by")
        if isinstance(self.window, Attached):
            for columns in super().sides(plan).values():
                yield from check_expressions((self.window.start, self.window.end), columns, WINDOW)
        elif not isinstance(self.window, Tumbling | Sliding | Cumulating):
            accepted = "tumbling, sliding, cumulating and attached windows"
            what = f"a join accepts {accepted}, got {self.window.describe()}"
            yield Finding(what, "use one of these, or join(..., within=...) without a window", (WINDOW,))

    def sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
        return {**super().sides(plan), WINDOW: ("start", "end")}

    def state_bound(self, plan: Plan) -> StateBound:
        size = getattr(self.window, "size", 0) + out_of_order(plan, self)
        since = "end" if isinstance(self.window, Attached) else "start"
        return StateBound(f"the rows of open windows, kept {text(size)} from their {since}")

    def description(self) -> list[str]:
        return [
            f"{self.how} join with {self.other}",
            self.window.describe(),
            describe_keys(self.keys),
            f"where {self.where}" if self.where is not None else "",
            describe_columns(self.select) if self.select else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "keys": stable_names(self.keys),
            "window": self.window,
            "how": self.how,
            "where": None if self.where is None else stable_text(self.where),
        }


def window_join(
    name: str,
    left: Ref,
    right: Ref,
    keys: Named,
    window: Window,
    *,
    how: How = "inner",
    where: Any = None,
    select: Mapping[str, Any] | None = None,
) -> WindowJoin:
    """Return the node of a join inside windows.

    Raises:
        OptionError: an option has an invalid value.
    """
    place = f"`{name}`"
    require_choice(how, How, "how", place)
    condition = None if where is None else expression_of(where, place)
    return WindowJoin(name, left, right, keys, window, how, condition, select=selection_of(select, place))


class WindowJoinOptions(JoinOptions):
    """The value of `join` beside `window` in a document."""

    example = "such as {with: clicks, how: left}"
    how: HowValue = "inner"
    where: WhereValue = None
    select: SelectValue = None


class WindowJoinModel(JoinModel):
    """`window` and `join` in a document."""

    node = WindowJoin
    keys: KeyColumns = Field(default=(), alias="key_by")
    window: AnyWindow = Field(description="Groups by time or by order")
    options: WindowJoinOptions = Field(alias="join", description="Joins with another stream")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True with a window."""
        return "join" in keys and "window" in keys
