"""Joins with a table at arrival or at event time, and live joins of streams and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from headrace.durations import text
from headrace.errors import require_choice
from headrace.steps.base import MAIN, Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_named_pairs, check_pair_expressions
from headrace.steps.expressions import Expression, describe_columns, expression_of, stable_text
from headrace.steps.facts import CHANGE, Facts, late_facts
from headrace.steps.grammar.problems import MISSING_KEY, invalid, raise_at
from headrace.steps.grammar.values import Reference
from headrace.steps.joins.grammar import (
    HowValue,
    JoinModel,
    JoinOptions,
    OnValue,
    SelectValue,
    WhereValue,
)
from headrace.steps.joins.sides import (
    How,
    JoinOn,
    describe_on,
    key_pairs_of,
    selection_of,
)
from headrace.steps.tables.changelog import result_key, row_columns
from headrace.steps.tables.latest import VERSIONS
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.traits import Finding, StateBound, Tier, unknown_columns

At = Literal["arrival", "event_time", "live"]
TableHow = Literal["inner", "left"]
"""The kinds of a join with a table at arrival or at event time; a live join has all of `How`."""
_KEYS = ("at", "join")
_MOMENTS = {
    "arrival": "as it is when a row arrives",
    "event_time": "as it was at the time of a row",
    "live": "following its changes",
}
_NOT_LATEST = "a join at event time requires the versions of `latest`, but `{}` has none"


@dataclass(frozen=True)
class TableJoin(JoinOn):
    """Joins a stream with a table, or live any two of streams and tables.

    A live join without key columns has one key, so that one task holds all of its rows.
    """

    at: At | None = None
    """The version of the table that a row is joined with; default: `live` (table) or `arrival` (stream)."""
    how: How = "inner"
    where: Expression | None = None
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

    @property
    def omits_right(self) -> bool:
        return self.how in ("semi", "anti")

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
        key = result_key(left, right, on=self.on, how=self.how, select=self.select, columns=columns)
        shown = None if columns is None else (*columns, CHANGE)
        return Facts(
            columns=shown,
            timed=joined_time(left, right),
            by_clock=left.by_clock,
            change="table",
            table_key=key,
        )

    def check(self, plan: Plan) -> Iterator[Finding]:
        left, right = (plan.facts(ref) for ref in self.inputs)
        yield from unknown_columns((key for key, _ in self.on), left.columns, "left key", ("on", "join"))
        yield from unknown_columns((key for _, key in self.on), right.columns, "right key", ("on", "join"))
        sides = self.sides(plan)
        yield from check_named_pairs(self.select or (), sides, "select")
        yield from check_pair_expressions([self.where], sides, "where")
        yield from self._check_selected_sides()
        if self.at == "event_time" and left.timed and right.timed and left.by_clock != right.by_clock:
            what = "the stream and the table have different kinds of time"
            yield Finding(what, "declare event time for both", _KEYS)
        live = self.moment(left) == "live"
        yield from self._check_live(left, right) if live else self._check_moment(left, right)

    def _check_live(self, left: Facts, right: Facts) -> Iterator[Finding]:
        if left.cdc:
            what = f"`{self.input}` has the changes of a database, which a live join takes on the right only"
            yield Finding(what, "convert it to a table with key_by(...).latest(...)", _KEYS)
        columns = self.result_columns(row_columns(left), row_columns(right))
        if not left.cdc and CHANGE in (name.lower() for name in columns or ()):
            what = f"the result has the column `{CHANGE}` of its own, and one of both sides has it, too"
            yield Finding(what, f'rename it, such as select={{"changed": "left.{CHANGE}"}}', _KEYS)

    def _check_moment(self, left: Facts, right: Facts) -> Iterator[Finding]:
        """Check a join with the table at a moment, which needs a stream, a table and key columns."""
        moment = self.moment(left)
        if not right.cdc and moment != "event_time" and right.change != "table":
            hint = (
                "convert it to a table with key_by(...).latest(...), set within= to join two streams, or"
                ' at="live" to keep all rows of both'
            )
            what = f"expected a table on the right, but `{self.other.step.split(':')[0]}` is a stream"
            yield Finding(what, hint, ("with",))
        if self.how not in ("inner", "left"):
            what = f'how={self.how} requires at="live", but `{self.input}` is a stream'
            yield Finding(what, 'set at="live", or use inner or left', ("how", "join"))
        if not self.on:
            what = f'a join at="{moment}" has no key columns'
            yield Finding(what, 'set on=, or at="live"', _KEYS)
        if has_retractions(left):
            what = f'at="{moment}" requires a stream, but the rows of `{self.input}` change'
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
            case _:
                return self._live_state(left, plan.facts(self.other))

    def _live_state(self, left: Facts, right: Facts) -> StateBound:
        by = f", by {', '.join(key for _, key in self.on)}" if self.on else ", in one task"
        left_table, right_table = left.change == "table", right.cdc or right.change == "table"
        if left_table and right_table:
            return StateBound(f"the rows of both tables{by}", "the rows of the tables")
        if right_table:
            hint = 'at="arrival" keeps no row'
            return StateBound(
                f"all rows of the stream and of the table{by}", f"the rows of `{self.input}`", hint
            )
        hint = "within= joins rows that are close in event time, and keeps no others"
        if left_table:
            kept = f"the rows of the table and all rows of the stream{by}"
            return StateBound(kept, f"the rows of `{self.other}`", hint)
        return StateBound(f"all rows of both streams{by}", "the rows of the streams", hint)

    def description(self) -> list[str]:
        return [
            f"{self.how} join with {'' if self.at == 'live' else 'the table '}{self.other}",
            _MOMENTS[self.at] if self.at is not None else "",
            describe_on(self.on) if self.on else "without key columns",
            f"where {self.where}" if self.where is not None else "",
            describe_columns(self.select) if self.select else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        at = None if self.at == "arrival" else self.at  # the default of a stream
        where = None if self.where is None else stable_text(self.where)
        return {"on": [list(pair) for pair in self.on], "at": at, "how": self.how, "where": where}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the table, and of the left rows that are stored."""
        arrival = self.at == "arrival"
        return [name for name in columns if not arrival or name.startswith("right.")]


def joined_time(left: Facts, right: Facts) -> bool:
    """Return True if the results of a live join have the time of its left rows.

    Rows with event time and rows with the time of a clock have no common watermark.
    """
    return left.timed and (not right.timed or left.by_clock == right.by_clock)


def table_join(
    name: str,
    left: Ref,
    right: Ref,
    *,
    on: Any = None,
    at: At | None = None,
    how: How = "inner",
    where: Any = None,
    select: Mapping[str, Any] | None = None,
) -> TableJoin:
    """Return the node of a join with a table, or of a live join.

    Raises:
        OptionError: an option has an invalid value.
    """
    place = f"`{name}`"
    chosen = selection_of(select, place)
    require_choice(how, How if at in (None, "live") else TableHow, "how", place)
    if at is not None:
        require_choice(at, At, "at", place)
    if on is None and at is None:
        at = "live"
    keys = () if on is None and at == "live" else key_pairs_of(on, place)
    condition = None if where is None else expression_of(where, place)
    return TableJoin(name, left, right, keys, at, how, condition, select=chosen)


class TableJoinOptions(JoinOptions):
    """The value of `join` with a table, or of a live join, in a document."""

    example = "such as {with: clicks, on: user, within: 15 minutes}, or {with: users, on: user, at: arrival}"
    other: Reference = Field(
        alias="with", description="The table: `latest`, `top_n`, a join or a CDC source; live also a stream"
    )
    on: OnValue = Field(
        default=(),
        description="The key columns: one, a list, or a mapping from left to right; optional if live",
    )
    at: At | None = Field(
        default=None, description="The version of the table: `arrival`, `event_time` or `live`"
    )
    how: HowValue = Field(
        default="inner",
        description="`inner`: a row without a match is dropped; `left`: it passes with nulls; live also"
        " `right`, `full`, `semi` and `anti`",
    )
    where: WhereValue = None
    select: SelectValue = None

    def check(self) -> None:
        """Check that the join has key columns, unless it is live."""
        if not self.on and self.at != "live":
            raise_at(("on",), invalid("`on` of join is missing", self.example, kind=MISSING_KEY))


class TableJoinModel(JoinModel):
    """`join` with a table, or a live join, in a document."""

    node = TableJoin
    options: TableJoinOptions = Field(alias="join", description="Joins with a table, or live")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window and without `within`."""
        options = keys.get("join")
        return "window" not in keys and isinstance(options, Mapping) and "within" not in options
