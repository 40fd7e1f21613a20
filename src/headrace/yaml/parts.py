"""The keys of a step, each as a part: something that becomes a node once it is known what it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from headrace.durations import microseconds
from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import LookupHow, lookup_node
from headrace.steps.rows.route import Route
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.triggers import Emission
from headrace.windows import state_ttl
from headrace.yaml import matching, options, rules, windowing
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.reading import (
    Reader,
    collected,
    columns,
    fields,
    flag,
    named,
    record,
    text,
    texts,
    word,
)
from headrace.yaml.tree import Fields, Scalar, Value


@dataclass(frozen=True)
class Part:
    """One node of a step, told its name and what it reads later."""

    verb: str
    where: str
    make: Callable[[str, Ref], Node]


def where(value: Value) -> Part:
    condition = text(value, wanted="a condition in Spark SQL")
    return Part("where", value.where, lambda name, ref: Where(name, ref, condition))


def with_columns(value: Value) -> Part:
    added = named(value, wanted="names and expressions", hint="such as {double: amount * 2}")
    return Part("with_columns", value.where, lambda name, ref: WithColumns(name, ref, added))


def select(value: Value) -> Part:
    kept = columns(
        value, wanted="columns", hint="such as [card, amount * 2 as double] or {double: amount * 2}"
    )
    return Part("select", value.where, lambda name, ref: Select(name, ref, kept))


def drop(value: Value) -> Part:
    gone = texts(value, wanted="a column's name")
    return Part("drop", value.where, lambda name, ref: Drop(name, ref, gone))


def event_time(value: Value) -> Part:
    if isinstance(value, Scalar):
        column = text(value, wanted="a timestamp column")
        return Part("event_time", value.where, lambda name, ref: EventTime(name, ref, column))
    given = fields(value, wanted="a column, or {column: ...}")
    read = record(
        given, _EVENT_TIME, "event_time", required=("column",), hint="such as {column: ts, idle: 1 minute}"
    )
    return Part("event_time", given.where, lambda name, ref: EventTime(name, ref, **read))


def clock_time(clock: Literal["ingestion", "processing"], value: Value) -> Part | None:
    """`ingestion_time: true`, or `{}` or nothing behind the colon; `false` is as if it weren't there."""
    if isinstance(value, Scalar) and value.value is not None:
        if not flag(value):
            return None
    elif len(fields(value, wanted="true", empty=True)):
        fault(value.where, f"expected true, got {value}", f"{clock} time has no options")
    return Part(f"{clock}_time", value.where, lambda name, ref: ClockTime(name, ref, clock))


def keys(value: Value) -> Named:
    """`key_by`: a column, several, or names with expressions."""
    found = columns(value, wanted="columns", hint="such as card, [card, country] or {day: to_date(ts)}")
    return tuple((name or cast("str", item), item) for name, item in found)


def aggregate(value: Value, by: Named, window: Value | None, emits: Value | None, ttl: Value | None) -> Part:
    """`aggregate`, in windows if there is one."""
    faults = Faults()
    values = faults.attempt(named, value, wanted="names and aggregates", hint="such as {n: count(*)}")
    kind = None if window is None else faults.attempt(windowing.window, window)
    emission = Emission() if emits is None else faults.attempt(windowing.emit, emits)
    expires = None if ttl is None else faults.attempt(_state_ttl, ttl)
    if window is None and ttl is not None:
        faults.add(ttl.where, "`ttl` is an option of windows, and there is no `window`", "add a window")
    if window is None and emits is not None:
        faults.add(emits.where, "`emit` says when windows fire, and there is no `window`", "add a window")
    faults.raise_any()
    if window is None:
        return Part("aggregate", value.where, lambda name, ref: Aggregate(name, ref, by, values or ()))
    assert kind is not None
    assert emission is not None
    return Part(
        "window",
        window.where,
        lambda name, ref: WindowAggregate(name, ref, by, kind, emission, values or (), expires),
    )


def match(value: Value, by: Named) -> Part:
    """`match`: a pattern in the rows of each key."""
    return Part("match", value.where, matching.match(value, by))


def match_rules(value: Value, by: Named) -> Part:
    """`match_rules`: the patterns of a table in the rows of each key."""
    return Part("match_rules", value.where, rules.match_rules(value, by))


def distinct(value: Value) -> Part:
    if isinstance(value, Fields):
        read = record(
            value, _DISTINCT, "distinct", required=("on",), hint="such as {on: [id], within: 10 minutes}"
        )
    else:
        read = {"on": _names(value)}
    return Part("distinct", value.where, lambda name, ref: Distinct(name, ref, **read))


def route(value: Value) -> Part:
    branches = named(
        value, wanted="outputs and conditions", hint="such as {foreign: country <> 'FI', rest: true}"
    )
    return Part("route", value.where, lambda name, ref: Route(name, ref, branches))


def lookup(value: Value) -> Part:
    given, faults = (
        fields(value, wanted="a table and `on`", hint="such as {files: {...}, on: card}"),
        Faults(),
    )
    table = faults.attempt(options.connector, given, LOOKUP, "lookup")
    if "on" not in given:
        faults.add(given.where, "`on` of lookup is missing", "name the column that both sides have: on: card")
    read = collected(given, LOOKUP, faults)
    faults.raise_any()
    assert table is not None
    return Part("lookup", given.where, lambda name, ref: lookup_node(name, ref, table, **read))


def length(value: Value) -> int:
    """A length of time in microseconds."""
    with at(value):
        return microseconds(text(value, wanted="a length of time"))


def _state_ttl(value: Value) -> int | None:
    with at(value):
        return state_ttl(text(value, wanted="a length of time"))


def _names(value: Value) -> tuple[str, ...]:
    return texts(value, wanted="columns")


_EVENT_TIME: dict[str, Reader] = {
    "column": lambda value: text(value, wanted="a timestamp column"),
    "out_of_order": length,
    "idle": length,
    "max_ahead": length,
    "watermark_when": lambda value: text(value, wanted="a condition in Spark SQL"),
}
_DISTINCT: dict[str, Reader] = {"on": _names, "within": length}
LOOKUP: dict[str, Reader] = {
    "on": _names,
    "how": lambda value: word(value, get_args(LookupHow)),
    "format": options.record_format,
    "schema": options.schema,
}
