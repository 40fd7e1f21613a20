"""Joins of a stream with a table (at arrival, at event time or live), and of two tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from headrace.durations import text
from headrace.errors import require_choice
from headrace.steps.base import MAIN, Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_named_pairs
from headrace.steps.expressions import describe_columns
from headrace.steps.facts import CHANGE, Facts, late_facts
from headrace.steps.grammar.values import Reference
from headrace.steps.joins.grammar import JoinModel, JoinOnOptions, SelectValue
from headrace.steps.joins.sides import (
    JoinOn,
    describe_on,
    key_pairs_of,
    selection_of,
)
from headrace.steps.tables.changelog import result_key, row_columns
from headrace.steps.tables.latest import VERSIONS
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.traits import Finding, StateBound, Tier, unknown_columns

if TYPE_CHECKING:
    pass

At = Literal["arrival", "event_time", "live"]
TableHow = Literal["inner", "left"]
TablesHow = Literal["inner", "left", "right", "full"]
"""The kinds of a join of two tables."""
_KEYS = ("at", "join")
_MOMENTS = {
    "arrival": "as it is when a row arrives",
    "event_time": "as it was at the time of a row",
    "live": "following its changes",
}
_NOT_LATEST = "a join at event time requires the versions of `latest`, but `{}` has none"


@dataclass(frozen=True)
class TableJoin(JoinOn):
    """Joins a stream with a table, or two tables."""

    at: At | None = None
    """The version of the table that a row is joined with; default: `live` (table) or `arrival` (stream)."""
    how: TablesHow = "inner"
    verb: ClassVar[str] = "join"
    accepts_changes = True
    duplicate_hint: ClassVar[str] = (
        'both sides have it; choose the columns, such as select={"name": "right.name"}'
    )

    @property
    def needs_time(self) -> bool:  # type: ignore[override]
        return self.at == "event_time"

    @property
    def inputs(self) -> tuple[Ref, ...]:
        if self.at == "event_time" and self.other.output == MAIN:
            return (self.input, Ref(self.other.step, VERSIONS))
        return (self.input, self.other)

    @property
    def row_inputs(self) -> tuple[Ref, ...]:
        return (self.input,)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.at == "event_time" else (MAIN,)

    @property
    def outer_right(self) -> bool:
        """True if rows of the right table without a match are results."""
        return self.how in ("right", "full")

    def moment(self, left: Facts) -> At:
        """Return the version of the table that a row is joined with."""
        return self.at or ("live" if has_retractions(left) else "arrival")

    def fires_by_clock(self, facts: Facts) -> bool:
        return self.at == "event_time" and facts.by_clock

    def missing_input(self, ref: Ref) -> Finding | None:
        if ref.output != VERSIONS:
            return None
        hint = "create the table with key_by(...).latest(...), after where and select"
        return Finding(_NOT_LATEST.format(ref.step.split(":")[0]), hint, _KEYS)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        left, right = inputs
        if output == "late":
            return late_facts(left)
        columns = self.result_columns(row_columns(left), row_columns(right))
        if self.moment(left) != "live":
            return Facts(columns=columns, timed=left.timed)
        key = result_key(left, right, self.on, columns, outer_right=self.outer_right)
        shown = None if columns is None else (*columns, CHANGE)
        return Facts(columns=shown, timed=left.timed, change="table", table_key=key)

    def check(self, plan: Plan) -> Iterator[Finding]:
        left, right = (plan.facts(ref) for ref in self.inputs)
        yield from unknown_columns((key for key, _ in self.on), left.columns, "left key", ("on", "join"))
        yield from unknown_columns((key for _, key in self.on), right.columns, "right key", ("on", "join"))
        yield from check_named_pairs(self.select or (), self.sides(plan), "select")
        if self.at == "event_time" and left.timed and right.timed and left.by_clock != right.by_clock:
            what = "the stream and the table have different kinds of time"
            yield Finding(what, "declare event time for both", _KEYS)
        if not right.cdc and self.at != "event_time" and right.change != "table":
            hint = "convert it to a table with key_by(...).latest(...), or set within= to join two streams"
            yield Finding(
                f"expected a table on the right, but `{self.other.step.split(':')[0]}` is a stream",
                hint,
                ("with",),
            )
        if self.outer_right and left.change != "table":
            hint = "convert it to a table with key_by(...).latest(...), or use inner or left"
            yield Finding(
                f"how={self.how} requires two tables, but `{self.input}` is a stream", hint, ("how", "join")
            )
        if has_retractions(left) and self.moment(left) != "live":
            what = f'at="{self.moment(left)}" requires a stream, but the rows of `{self.input}` change'
            yield Finding(what, 'use at="live": the result follows both sides', _KEYS)

    def sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
        left, right = (plan.facts(ref) for ref in self.inputs)
        return {"left": row_columns(left), "right": row_columns(right)}

    def tier(self, plan: Plan) -> Tier:
        moment = self.moment(plan.facts(self.input))
        if moment == "live":
            return Tier("kernel", "a change on either side revises the results that it touches")
        return Tier("kernel", f"joins with the table {_MOMENTS[moment]}")

    def state_bound(self, plan: Plan) -> StateBound:
        left, keys = plan.facts(self.input), ", ".join(key for _, key in self.on)
        match self.moment(left):
            case "arrival":
                return StateBound(f"the rows of the table, by {keys}", "the rows of the table")
            case "event_time":
                behind = out_of_order(plan, self)
                waiting = f"the rows of the last {text(behind)}" if behind else "the rows at the watermark"
                kept = f"the last version of each {keys}, later ones, and {waiting}"
                return StateBound(kept, f"the distinct values of {keys}")
            case _ if left.change == "table":
                return StateBound(f"the rows of both tables, by {keys}", "the rows of the tables")
            case _:
                kept = f"all rows of the stream and of the table, by {keys}"
                return StateBound(kept, f"the rows of `{self.input}`", 'at="arrival" keeps no row')

    def description(self) -> list[str]:
        return [
            f"{self.how} join with the table {self.other}",
            _MOMENTS[self.at] if self.at is not None else "",
            describe_on(self.on),
            describe_columns(self.select) if self.select else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        at = None if self.at == "arrival" else self.at  # the default of a stream
        return {"on": [list(pair) for pair in self.on], "at": at, "how": self.how}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the table, and of the left rows that are stored."""
        arrival = self.at == "arrival"
        return [name for name in columns if not arrival or name.startswith("right.")]


def table_join(
    name: str,
    left: Ref,
    right: Ref,
    *,
    on: Any,
    at: At | None = None,
    how: TablesHow = "inner",
    select: Mapping[str, Any] | None = None,
) -> TableJoin:
    """Return the node of a join with a table.

    Raises:
        OptionError: an option has an invalid value.
    """
    place = f"`{name}`"
    chosen = selection_of(select, place)
    require_choice(how, TablesHow if at in (None, "live") else TableHow, "how", place)
    if at is not None:
        require_choice(at, At, "at", place)
    return TableJoin(name, left, right, key_pairs_of(on, place), at, how, select=chosen)


class TableJoinOptions(JoinOnOptions):
    """The value of `join` with a table in a document."""

    example = "such as {with: clicks, on: user, within: 15 minutes}, or {with: users, on: user, at: arrival}"
    other: Reference = Field(alias="with", description="The table: `latest`, `top_n`, a join or a CDC source")
    at: At | None = Field(
        default=None, description="The version of the table: `arrival`, `event_time` or `live`"
    )
    how: TablesHow = Field(
        default="inner",
        description="`inner`: a row without a match is dropped; `left`: it passes with nulls; of two tables"
        " also `right` and `full`",
    )
    select: SelectValue = None


class TableJoinModel(JoinModel):
    """`join` with a table in a document."""

    node = TableJoin
    options: TableJoinOptions = Field(alias="join", description="Joins with a table")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window and without `within`."""
        options = keys.get("join")
        return "window" not in keys and isinstance(options, Mapping) and "within" not in options
