"""Joins: nodes with two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import MinLen
from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from headrace.durations import Duration, microseconds, text
from headrace.errors import OptionError
from headrace.sql.expression_check import qualifiers
from headrace.steps.base import MAIN, Plan, Ref, out_of_order
from headrace.steps.expression_checks import check_expressions, check_named_pairs, check_pair_expressions
from headrace.steps.expressions import (
    Expression,
    Named,
    describe_columns,
    describe_keys,
    expression_of,
    names_of,
    sql_texts,
    stable_names,
    stable_text,
)
from headrace.steps.facts import CHANGE, Facts, late_facts, plain_column, union_facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.model import Written
from headrace.steps.grammar.problems import MISSING_KEY, collect_errors, invalid, raise_at
from headrace.steps.grammar.values import (
    TEXT_SCHEMA,
    Expected,
    KeyColumns,
    Length,
    OtherInput,
    SqlExpression,
    SqlText,
)
from headrace.steps.tables.changelog import row_columns
from headrace.steps.tables.latest import VERSIONS
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier, unknown_columns
from headrace.steps.unrouted import note_stateful
from headrace.windows import AnyWindow, Attached, Cumulating, Sliding, Tumbling

How = Literal["inner", "left", "right", "full", "semi", "anti"]
AsOfHow = Literal["left", "inner"]
TableHow = Literal["inner", "left"]
"""The kinds of a join with a table at arrival or at event time; a live join has all of `How`."""
Direction = Literal["backward", "forward", "nearest"]
At = Literal["arrival", "event_time", "live"]
OnColumns = str | list[str] | tuple[str, ...] | Mapping[str, str]
On = tuple[tuple[str, str], ...]
"""Pairs of a left and a right key column."""
Within = Duration | Sequence[Duration]
Bounds = tuple[int, int]
"""The least and the greatest value of `right.ts - left.ts`, in microseconds."""
WINDOW = "window"
_ON_KEYS = ("on", "join", "join_as_of", "key_by")
_AT_KEYS = ("at", "join")
_PARTNERS = {
    "backward": "the last right row at or before it",
    "forward": "the first right row at or after it",
    "nearest": "the nearest right row",
}
_MOMENTS = {
    "arrival": "as it is when a row arrives",
    "event_time": "as it was at the time of a row",
    "live": "following its changes",
}
_NOT_LATEST = "a join at event time requires the versions of `latest`, but `{}` has none"


def key_pairs_of(on: Any) -> On:
    """Return the value of `on` as pairs: a column, a list of columns, or a mapping from left to right.

    >>> key_pairs_of({"id": "ad"})
    (('id', 'ad'),)

    Raises:
        OptionError: the value has another type.
    """
    names = on.items() if isinstance(on, Mapping) else on if isinstance(on, list | tuple) else (on,)
    pairs = tuple(name if isinstance(name, tuple) else (name, name) for name in names)
    if not pairs or not all(isinstance(name, str) and name for pair in pairs for name in pair):
        hint = 'such as on="card", on=["card", "country"] or on={"id": "ad_id"}'
        raise OptionError(f"expected the key columns, got {on!r}", hint=hint)
    return pairs


def _write_pairs(pairs: On) -> Any:
    if any(left != right for left, right in pairs):
        return dict(pairs)
    names = [left for left, _ in pairs]
    return names[0] if len(names) == 1 else names


def bounds_of(within: Any) -> Bounds:
    """Return `within` as bounds of `right.ts - left.ts`: a distance, or the least and the greatest value.

    >>> bounds_of("15 minutes") == bounds_of(["-15 minutes", "15 minutes"])
    True

    Raises:
        OptionError: it is neither, or the first bound is greater than the second.
    """
    if isinstance(within, str | timedelta):
        distance = Length(microseconds(within))
        return (Length(-distance), distance)
    if not isinstance(within, list | tuple) or len(within) != 2:
        hint = 'such as "15 minutes" or ("-15 minutes", "0 seconds")'
        raise OptionError(f"expected a distance or two bounds, got {within!r}", hint=hint)
    lower, upper = (_parse_bound(bound) for bound in within)
    if lower > upper:
        what = f"the first bound, {within[0]}, is greater than the second, {within[1]}"
        raise OptionError(what, hint="write the smaller bound of right.ts - left.ts first")
    return (lower, upper)


def _parse_bound(bound: Any) -> Length:
    """Return a bound, which may be negative."""
    if isinstance(bound, Length):
        return bound
    if isinstance(bound, timedelta) and bound < timedelta(0):
        return Length(-microseconds(-bound))
    if isinstance(bound, str) and bound.strip().startswith("-"):
        return Length(-microseconds(bound.strip()[1:]))
    return Length(microseconds(bound))


def _format_bound(length: int) -> str:
    return f"-{text(-length)}" if length < 0 else text(length)


def _write_bounds(bounds: Bounds) -> Any:
    lower, upper = bounds
    return text(upper) if -lower == upper else [_format_bound(lower), _format_bound(upper)]


def _selection_of(select: Any) -> Named:
    """Return the selected columns of Python as pairs."""
    if isinstance(select, tuple):
        return select
    if not isinstance(select, Mapping) or not select:
        raise OptionError(
            f"expected names and columns, got {select!r}", hint='such as select={"price": "right.price"}'
        )
    return tuple((name, expression_of(item)) for name, item in select.items())


_ON_FORMS = {
    "anyOf": [
        TEXT_SCHEMA,
        {"type": "array", "items": TEXT_SCHEMA, "minItems": 1},
        {"type": "object", "additionalProperties": TEXT_SCHEMA, "minProperties": 1},
    ]
}
_OnForms = Annotated[On, PlainSerializer(_write_pairs), WithJsonSchema(_ON_FORMS)]
Keys = Annotated[_OnForms, PlainValidator(lambda on: collect_errors(key_pairs_of, on))]
"""A column, a list of columns, or a mapping from left to right columns."""
OptionalKeys = Annotated[
    _OnForms, PlainValidator(lambda on: collect_errors(key_pairs_of, on) if on != () else on)
]
TimeBounds = Annotated[
    Bounds,
    PlainValidator(lambda within: collect_errors(bounds_of, within)),
    PlainSerializer(_write_bounds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"[0-9]\s*[a-zA-Z]+|\$\{"},
                {"type": "array", "items": TEXT_SCHEMA, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
]
PairColumns = Annotated[
    Named,
    Written(
        Annotated[dict[str, SqlText], MinLen(1)],
        lambda named: tuple(named.items()),
        sql_texts,
        _selection_of,
    ),
    Expected("names and columns of a side", "such as {price: right.price}"),
]


class TwoInputs(StepNode):
    """The base of steps that read two streams or tables; the fields are those that all joins declare."""

    input: Input
    other: Ref
    on: On
    how: How
    where: Expression | None = None
    select: Named | None

    key: ClassVar[str] = "join"
    other_key: ClassVar[str] = "with"
    nested: ClassVar[bool] = True
    label: ClassVar[str] = "join"
    verb: ClassVar[str] = "join"
    sides: ClassVar[tuple[str, ...]] = ("left.", "right.")
    stateful = True
    needs_time = True
    duplicate_hint: ClassVar[str] = (
        'both streams have it; choose the columns, such as select={"amount": "left.amount"}'
    )
    times_differ: ClassVar[tuple[str, str]] = (
        "one stream has event time, the other the time of a clock",
        "declare the same kind of time for both",
    )

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return (self.input, self.other)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")

    @property
    def key_pairs(self) -> On:
        """The key columns of both sides."""
        return self.on

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of its key columns; those of the left side if they differ."""
        return super().key_names or tuple(left for left, _ in self.key_pairs)

    @property
    def omits_right(self) -> bool:
        """True if results have only the columns of the left stream."""
        return self.how in ("semi", "anti")

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(union_facts(inputs))
        return Facts(columns=self.result_columns(inputs[0].columns, inputs[1].columns), timed=True)

    def result_columns(
        self, left: Sequence[str] | None, right: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        """Return the output columns: the left ones, then the right ones that are not keys."""
        if self.select is not None:
            return names_of(self.select)
        if left is None or (right is None and not self.omits_right):
            return None
        keys = {key.lower() for _, key in self.key_pairs}
        rest = () if self.omits_right else tuple(name for name in right or () if name.lower() not in keys)
        return (*left, *rest)

    def check(self, plan: Plan) -> Iterator[Finding]:
        left, right = (plan.facts(ref) for ref in self.inputs)
        yield from unknown_columns((key for key, _ in self.key_pairs), left.columns, "left key", _ON_KEYS)
        yield from unknown_columns((key for _, key in self.key_pairs), right.columns, "right key", _ON_KEYS)
        if self.needs_time and left.timed and right.timed and left.by_clock != right.by_clock:
            yield Finding(*self.times_differ, _ON_KEYS)
        columns = self.columns_of_sides(plan)
        yield from check_named_pairs(self.select or (), columns, "select")
        yield from self._check_selected_sides()
        yield from check_pair_expressions([self.where], columns, "where")

    def _check_selected_sides(self) -> Iterator[Finding]:
        for name, item in self.select or () if self.omits_right else ():
            if isinstance(item, str) and "right" in qualifiers(item):
                yield Finding(
                    f"semi and anti joins return columns of the left stream, but `{name}` is `{item}`",
                    "select left columns, or use how=inner or how=left",
                    ("select",),
                )

    def columns_of_sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
        """Return the columns of each qualifier of expressions over pairs of rows."""
        return {"left": plan.facts(self.input).columns, "right": plan.facts(self.other).columns}

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "late rows go to .late")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def describe_pairs(self, *phrases: str) -> list[str]:
        """Return phrases with the extra condition and the selected columns after them."""
        return [
            *phrases,
            f"where {self.where}" if self.where is not None else "",
            describe_columns(self.select) if self.select else "",
        ]


@declare
class IntervalJoin(TwoInputs):
    """Joins with another stream: rows with equal keys and `lower <= right.ts - left.ts <= upper`."""

    input: Input
    other: OtherInput
    """The right stream: a source, a step or an output."""
    _: KW_ONLY
    on: Keys
    """The key columns: one, a list, or a mapping from left to right."""
    within: TimeBounds
    """The distance of event times, or bounds of right - left."""
    how: How = "inner"
    """The kind of join."""
    where: SqlExpression | None = None
    """An extra condition over left.column and right.column."""
    select: PairColumns | None = None
    """Names and expressions over left.column and right.column."""

    example: ClassVar[str] = "such as {with: clicks, on: user, within: 15 minutes}"

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True with `within` and without a window; without `within` it is a join with a table."""
        options = keys.get(cls.key)
        with_table = isinstance(options, Mapping) and "within" not in options
        return cls.key in keys and WINDOW not in keys and not with_table

    @property
    def retention(self) -> tuple[int, int]:
        """The times that left and right rows wait for a partner, in microseconds."""
        lower, upper = self.within
        return max(upper, 0), max(-lower, 0)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = super().output_facts(output, inputs)
        hold = 0 if self.how == "inner" else max(self.retention)  # a pair has the later time of the two
        return facts if output else replace(facts, hold=hold)

    def state_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self)
        left, right = (text(wait + behind) for wait in self.retention)
        return StateBound(f"left rows for {left} and right rows for {right}, by event time")

    def description(self) -> list[str]:
        lower, upper = self.within
        bounds = f"right - left from {_format_bound(lower)} to {_format_bound(upper)}"
        within = f"within {text(upper)}" if -lower == upper else bounds
        return self.describe_pairs(f"{self.how} join with {self.other}", _describe_on(self.on), within)

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "on": [list(pair) for pair in self.on],
            "lower": self.within[0],
            "upper": self.within[1],
            "how": self.how,
            "where": None if self.where is None else stable_text(self.where),
        }


@declare
class WindowJoin(TwoInputs):
    """Joins with another stream: rows with equal keys in the same window, when the window closes."""

    input: Input
    other: OtherInput
    """The right stream: a source, a step or an output."""
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    window: AnyWindow
    """Groups by time or by order."""
    how: How = "inner"
    """The kind of join."""
    where: SqlExpression | None = None
    """An extra condition over left.column and right.column."""
    select: PairColumns | None = None
    """Names and expressions over left.column and right.column."""

    example: ClassVar[str] = "such as {with: clicks, how: left}"
    beside: ClassVar[Mapping[str, Any]] = {"keys": "_", WINDOW: "global"}

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True with a window."""
        return cls.key in keys and WINDOW in keys

    @property
    def key_pairs(self) -> On:
        columns = [column for _, key in self.keys if (column := plain_column(key)) is not None]
        if isinstance(self.window, Attached):
            columns += [column for column in self.window.columns if column not in columns]
        return tuple((column, column) for column in columns)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = super().output_facts(output, inputs)
        if output or facts.columns is None or WINDOW in facts.columns:
            return facts
        return replace(facts, columns=(*facts.columns, WINDOW))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        computed = [key for _, key in self.keys if plain_column(key) is None]
        both = super().columns_of_sides(plan).values()
        for columns in both:
            yield from check_expressions(computed, columns, "key_by")
        if isinstance(self.window, Attached):
            for columns in both:
                yield from check_expressions((self.window.start, self.window.end), columns, WINDOW)
        elif not isinstance(self.window, Tumbling | Sliding | Cumulating):
            accepted = "tumbling, sliding, cumulating and attached windows"
            what = f"a join accepts {accepted}, got {self.window.describe()}"
            yield Finding(what, "use one of these, or join(..., within=...) without a window", (WINDOW,))

    def columns_of_sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
        return {**super().columns_of_sides(plan), WINDOW: ("start", "end")}

    def state_bound(self, plan: Plan) -> StateBound:
        size = getattr(self.window, "size", 0) + out_of_order(plan, self)
        since = "end" if isinstance(self.window, Attached) else "start"
        return StateBound(f"the rows of open windows, kept {text(size)} from their {since}")

    def description(self) -> list[str]:
        title = f"{self.how} join with {self.other}"
        return self.describe_pairs(title, self.window.describe(), describe_keys(self.keys))

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "keys": stable_names(self.keys),
            "window": self.window,
            "how": self.how,
            "where": None if self.where is None else stable_text(self.where),
        }


@declare
class AsOfJoin(TwoInputs):
    """Adds the row of another stream that is closest in event time."""

    input: Input
    other: OtherInput
    """The right stream: a source, a step or an output."""
    _: KW_ONLY
    on: Keys
    """The key columns: one, a list, or a mapping from left to right."""
    direction: Direction = "backward"
    """The direction in event time in which a partner is searched."""
    tolerance: Length | None = None
    """The maximum distance of a partner."""
    how: AsOfHow = "left"
    """`left`: a row without a partner passes; `inner`: it is dropped."""
    select: PairColumns | None = None
    """Names and expressions over left.column and right.column."""

    verb: ClassVar[str] = "join_as_of"
    key: ClassVar[str] = "join_as_of"
    label: ClassVar[str] = "join_as_of"
    example: ClassVar[str] = "such as {with: prices, on: symbol, tolerance: 1 hour}"
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
        return self.describe_pairs(
            f"each row with {_PARTNERS[self.direction]}, of {self.other}",
            _describe_on(self.on),
            f"at most {text(self.tolerance)} away" if self.tolerance is not None else "",
            "" if self.how == "left" else "drops rows without a partner",
        )

    def state_fields(self) -> Mapping[str, Any]:
        return {
            "on": [list(pair) for pair in self.on],
            "direction": self.direction,
            "tolerance": self.tolerance,
        }


@declare
class TableJoin(TwoInputs):
    """Joins with a table, or live.

    A live join of any two streams and tables follows both. Without key columns it has one key, so that one
    task holds all of its rows.
    """

    input: Input
    other: OtherInput
    """The table: `latest`, `top_n`, a join or a CDC source; live also a stream."""
    _: KW_ONLY
    on: OptionalKeys = ()
    """The key columns: one, a list, or a mapping from left to right; optional if live."""
    at: At | None = None
    """The version of the table: `arrival`, `event_time` or `live`."""
    how: How = "inner"
    """`inner`: a row without a match is dropped; `left`: it passes with nulls; live also `right`, `full`,
    `semi` and `anti`."""
    where: SqlExpression | None = None
    """An extra condition over left.column and right.column."""
    select: PairColumns | None = None
    """Names and expressions over left.column and right.column."""

    example: ClassVar[str] = (
        "such as {with: clicks, on: user, within: 15 minutes}, or {with: users, on: user, at: arrival}"
    )
    accepts_changes = True
    duplicate_hint: ClassVar[str] = (
        'both sides have it; choose the columns, such as select={"name": "right.name"}'
    )
    times_differ: ClassVar[tuple[str, str]] = (
        "the stream and the table have different kinds of time",
        "declare event time for both",
    )

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window and without `within`."""
        options = keys.get(cls.key)
        return WINDOW not in keys and isinstance(options, Mapping) and "within" not in options

    def check_values(self) -> None:
        """Check that the join has key columns, unless it is live."""
        if not self.on and self.at != "live":
            raise_at(("on",), invalid("`on` of join is missing", self.example, kind=MISSING_KEY))

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
        return Finding(_NOT_LATEST.format(ref.step.split(":")[0]), hint, _AT_KEYS)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        left, right = inputs
        if output == "late":
            return late_facts(left)
        columns = self.result_columns(row_columns(left), row_columns(right))
        if self.moment(left) != "live":
            return Facts(columns=columns, timed=left.timed)
        key = self._result_key(left, right, columns or ())
        shown = None if columns is None else (*columns, CHANGE)
        return Facts(
            columns=shown,
            timed=joined_time(left, right),
            by_clock=left.by_clock,
            change="table",
            table_key=key,
        )

    def _result_key(self, left: Facts, right: Facts, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns that identify a row of a live join; empty if they are unknown.

        They are the key of the side that has at most one match for each row, and the keys of both sides
        otherwise.
        """
        left_key = left.table_key if left.change == "table" else ()
        right_key = right.table_key if right.change == "table" else ()
        one_left = bool(left_key) and set(left_key) <= {key for key, _ in self.on}
        one_right = right.cdc or (bool(right_key) and set(right_key) <= {key for _, key in self.on})
        own, partner = [f"left.{name}" for name in left_key], [f"right.{name}" for name in right_key]
        match self.how:
            case "semi" | "anti":
                key = own
            case "inner" | "left" if one_right and own:
                key = own
            case "inner" | "right" if one_left and partner:
                key = partner
            case "full" if one_left and one_right and self.select is None:
                key = own  # the key columns have the value of either side
            case _:
                key = [*own, *partner] if own and partner else []
        names = _result_names(self.on, self.select, columns)
        result = [names.get(source.lower(), "") for source in key]
        return tuple(dict.fromkeys(result)) if all(result) else ()

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        left, right = (plan.facts(ref) for ref in self.inputs)
        live = self.moment(left) == "live"
        yield from self._check_live(left, right) if live else self._check_moment(left, right)

    def _check_live(self, left: Facts, right: Facts) -> Iterator[Finding]:
        if left.cdc:
            what = f"`{self.input}` has the changes of a database, which a live join takes on the right only"
            yield Finding(what, "convert it to a table with key_by(...).latest(...)", _AT_KEYS)
        columns = self.result_columns(row_columns(left), row_columns(right))
        if not left.cdc and CHANGE in (name.lower() for name in columns or ()):
            what = f"the result has the column `{CHANGE}` of its own, and one of both sides has it, too"
            yield Finding(what, f'rename it, such as select={{"changed": "left.{CHANGE}"}}', _AT_KEYS)

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
            yield Finding(what, 'set on=, or at="live"', _AT_KEYS)
        if has_retractions(left):
            what = f'at="{moment}" requires a stream, but the rows of `{self.input}` change'
            yield Finding(what, 'use at="live": the result follows both sides', _AT_KEYS)

    def columns_of_sides(self, plan: Plan) -> dict[str, tuple[str, ...] | None]:
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

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        left, right = (plan.facts(ref) for ref in self.inputs)
        streams = left.change != "table" and not right.cdc and right.change != "table"
        if streams and self.moment(left) == "live":
            names = " and ".join(f"`{ref.step.split(':')[0]}`" for ref in self.inputs)
            what = f"stores all rows of {names}: its state grows without bound"
            condition = "b.ts between a.ts and a.ts + interval 10 minutes"
            yield Finding(what, f"set within=, or in SQL a condition such as {condition}", _AT_KEYS)

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
        return self.describe_pairs(
            f"{self.how} join with {'' if self.at == 'live' else 'the table '}{self.other}",
            _MOMENTS[self.at] if self.at is not None else "",
            _describe_on(self.on) if self.on else "without key columns",
        )

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


def _describe_on(pairs: On) -> str:
    """Describe the key columns: `on card`, `on id = ad_id`."""
    return "on " + ", ".join(left if left == right else f"{left} = {right}" for left, right in pairs)


def _result_names(on: On, select: Named | None, columns: tuple[str, ...]) -> dict[str, str]:
    """Return the result columns by the column of a side that they have: `left.id` or `right.id`."""
    if select is not None:
        return {
            item.replace("`", "").lower(): name for name, item in select if isinstance(item, str) and name
        }
    known = {name.lower() for name in columns}
    names = {f"{side}.{name.lower()}": name for side in ("right", "left") for name in columns}
    partners = {f"right.{right.lower()}": left for left, right in on if left.lower() in known}
    return names | partners  # a right key column is omitted: the left one has its value
