"""Window functions over the rows of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, SerializationInfo, WithJsonSchema

from headrace.durations import text
from headrace.errors import OptionError
from headrace.over.check import calls_of, check_columns, check_frame
from headrace.steps.base import MAIN, Plan, out_of_order
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import describe_columns, describe_keys, names_of, one_line, stable_names
from headrace.steps.facts import CHANGE, Facts, late_facts
from headrace.steps.grammar.declaration import Declaration, Input, StepNode, declare
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import MICROSECONDS, Aggregates, KeyColumns, Length, SqlText
from headrace.steps.keyed import KeyedNode
from headrace.steps.stateful.rows_in_state import with_rows_in_state
from headrace.steps.tables.changelog import keyed_columns, row_columns
from headrace.steps.tables.top_n import parse_order
from headrace.steps.traits import Blocks, Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful, note_unrouted

UNBOUNDED: Literal["unbounded"] = "unbounded"
Form = Literal["event_time", "arrival", "table"]
"""How rows are processed: in event-time order, in arrival order, or as a table whose rows are revised."""
_WAITS = "lead waits for the following row of the key, so a row may be emitted any time later"


def _require_rows(value: Any) -> int | str:
    if value == UNBOUNDED:
        return UNBOUNDED
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise expect("a number of rows before the current one, or `unbounded`", "such as rows: 2")
    return number


def _require_range(value: Any) -> Length | float | str:
    if value == UNBOUNDED:
        return UNBOUNDED
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)  # a variable in a document is text
        except ValueError:
            return Length.parse(value)
    if isinstance(value, timedelta | Length):
        return Length.parse(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise expect("a duration, a number that is not negative, or `unbounded`", "such as range: 1 hour")
    return value


def _write_range(value: Any, info: SerializationInfo) -> Any:
    return text(value) if isinstance(value, Length) and info.context != MICROSECONDS else value


Preceding = Annotated[
    int | str,
    PlainValidator(_require_rows),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNBOUNDED}]}),
]
Distance = Annotated[
    Length | float | str,
    PlainValidator(_require_range),
    PlainSerializer(_write_range),
    WithJsonSchema({"type": ["string", "number"], "examples": ["1 hour", 5, UNBOUNDED]}),
]


@declare
class OverWindow(Declaration):
    """The order of the rows of a key, and the frame of each row."""

    label: ClassVar[str] = "over"
    example: ClassVar[str] = "such as {order_by: ts, rows: 2} or {order_by: ts, range: 1 hour}"
    short: ClassVar[str] = "order_by"
    order_by: SqlText | None = None
    """The order of the rows, such as `ts` or `score desc, name`; without it, the frame is all rows of the
    key."""
    rows: Preceding | None = None
    """Aggregates cover this many rows before each row, and the row; or `unbounded`."""
    range: Distance | None = None
    """Aggregates cover rows whose order value is at most this far before that of the row: a duration, a
    number or `unbounded`, the default. Rows of equal order are in each other's frame."""

    def __post_init__(self) -> None:
        """Reject a frame that cannot be evaluated."""
        check_frame(self)

    @classmethod
    def location(cls, arguments: Mapping[str, Any]) -> str:
        """Return the name of the verb."""
        return "over"

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        """The expressions to order by, each with its direction; empty without an order."""
        return parse_order(self.order_by) if self.order_by is not None else ()

    @property
    def bound(self) -> int | float | None:
        """The number of rows, the distance, or None if the frame begins with the first row."""
        chosen = self.rows if self.rows is not None else self.range
        return None if chosen is None or isinstance(chosen, str) else chosen

    def describe(self) -> str:
        """Describe the frame.

        >>> OverWindow.create("ts", rows=2).describe()
        'each row and the 2 before it, ordered by ts'
        """
        if self.order_by is None:
            return "all rows of the key"
        order = f"ordered by {one_line(self.order_by)}"
        if self.rows is not None and self.bound is not None:
            return f"each row and the {self.bound} before it, {order}"
        if self.bound is not None:
            distance = text(self.bound) if isinstance(self.bound, Length) else str(self.bound)
            return f"each row and those up to {distance} before it, {order}"
        return f"each row and all before it, {order}"


@declare
class Over(StepNode, KeyedNode):
    """Window functions over the rows of each key, one result per row."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    over: OverWindow
    """Computes window functions over the rows of each key, one result per row."""
    aggregates: Annotated[Aggregates, Field(alias="aggregate")]

    verb: ClassVar[str] = "over"
    key: ClassVar[str] = "aggregate"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Time and state", "Over", {"over": {}, "aggregate": {"n": "count(*)"}}
    )
    accepts_changes = True
    duplicate_hint: ClassVar[str] = "rename the result: the rows keep their columns"
    delay_hint: ClassVar[str] = _WAITS

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """Return True for an aggregate over the frame of each row."""
        return "aggregate" in keys and "over" in keys

    def check_values(self) -> None:
        """Reject expressions that are no text."""
        for name, item in self.aggregates:
            if not isinstance(item, str):
                raise OptionError(
                    f"expected Spark SQL text, got {item!r}", where=name, hint='such as "sum(amount)"'
                )

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.over.order_by is not None else (MAIN,)

    def form(self, facts: Facts) -> Form:
        """Return how the rows of an input with these facts are processed."""
        orders = self.over.orders
        time = facts.time_column if facts.timed and facts.change == "none" else None
        if (
            time is None
            or not orders
            or (orders[0][0].strip("`").lower(), orders[0][1])
            != (
                time.lower(),
                "asc",
            )
        ):
            return "table"
        return "arrival" if facts.by_clock else "event_time"

    def fires_by_clock(self, facts: Facts) -> bool:
        return self.form(facts) == "arrival"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        facts = inputs[0]
        if output == "late":
            return late_facts(facts)
        columns = keyed_columns(self.keys, row_columns(facts))
        results = None if columns is None else (*columns, *names_of(self.aggregates))
        plain = replace(facts, schema=None, cdc=False, hold=0, adds=False)
        if self.form(facts) != "table":
            return replace(plain, columns=results, hold=None if self._waits else 0)
        shown = None if results is None else (*results, CHANGE)
        key = facts.table_key if facts.change == "table" else ()
        return replace(plain, columns=shown, change="table", table_key=key, fixed=())

    def check(self, plan: Plan) -> Iterator[Finding]:
        facts = plan.facts(self.input)
        columns = row_columns(facts)
        yield from super().check(plan)
        yield from check_columns(self.aggregates, columns)
        yield from check_expressions([order for order, _ in self.over.orders], columns, "over")
        distance = self.over.bound if self.over.range is not None else None
        if self.form(facts) != "table" and distance is not None and not isinstance(distance, Length):
            hint = "such as range: 1 hour"
            yield Finding("a range over event time is a duration", hint, ("range", "over"))

    def tier(self, plan: Plan) -> Tier:
        match self.form(plan.facts(self.input)):
            case "event_time":
                return Tier("kernel", "Spark has no such window in streams; rows wait for the watermark")
            case "arrival":
                return Tier("kernel", "Spark has no such window in streams; rows are in arrival order")
        return Tier("kernel", "a row revises the results that it touches")

    def state_bound(self, plan: Plan) -> StateBound:
        form = self.form(plan.facts(self.input))
        if form == "table":
            kept = f"all rows{self.of_each_key}, with their results"
            return StateBound(kept, "the rows of its input", "order by event time, with a bound")
        bound = with_rows_in_state(self._ordered_bound(plan), self.aggregates)
        return bound if self.over.bound is None else self._ordered_bound(plan)

    def _ordered_bound(self, plan: Plan) -> StateBound:
        behind = out_of_order(plan, self)
        waits = f", and rows up to {text(behind)} behind" if behind else ""
        waits += ", and the rows that lead waits for" if self._waits else ""
        bound = self.over.bound
        places = {name for _, item in self.aggregates for name in calls_of(str(item))}
        if isinstance(bound, Length) and not places & {"lag", "lead", "row_number", "rank", "dense_rank"}:
            return StateBound(f"the rows{self.of_each_key} of the last {text(bound + behind)}")
        if isinstance(bound, Length):
            kept = f"the rows{self.of_each_key} of the last {text(bound)}, and its last place{waits}"
        elif bound is not None:
            kept = f"the last {bound} rows{self.of_each_key}{waits}"
        else:
            kept = f"one state{self.of_each_key}, never expired{waits}"
        if not self.keys:
            return StateBound(kept)
        return StateBound(
            kept, f"the distinct values of {self.key_text}", "range= of a duration expires keys"
        )

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.form(plan.facts(self.input)) == "table":
            yield Blocks("its rows are changes, for which the kernel runs micro-batches")
            yield from note_unrouted(plan, self)
            return
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        return [self.over.describe(), describe_keys(self.keys), describe_columns(self.aggregates)]

    def state_fields(self) -> Mapping[str, Any]:
        over = self.over
        return {
            "keys": stable_names(self.keys),
            "order_by": None if over.order_by is None else one_line(over.order_by),
            "rows": over.rows,
            "range": over.range,
            "aggregates": stable_names(self.aggregates),
        }

    @property
    def _waits(self) -> bool:
        """True if a result depends on later rows."""
        return any("lead" in calls_of(str(item)) for _, item in self.aggregates)
