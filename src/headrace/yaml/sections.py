"""The three sections of a document, sources, steps and sinks, each entry read on its own, references still as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from headrace.connectors.base import Connector, WriteMode
from headrace.sql import facts as sql_facts
from headrace.steps.endpoints.source import OnError, Source, source_node
from headrace.steps.expressions import Named
from headrace.yaml import options, parts
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.parts import Part
from headrace.yaml.reading import Reader, collected, fields, only, text, word
from headrace.yaml.tree import Fields, Items, Scalar, Value

SOURCE = ("format", "schema", "on_error", "event_time", "ingestion_time", "processing_time")
STEP = (
    "from", "union", "where", "with_columns", "event_time", "ingestion_time", "processing_time", "key_by",
    "window", "ttl", "emit", "aggregate", "match", "match_rules", "lookup", "distinct", "route", "sql", "select", "drop",
)  # fmt: skip
"""The keys of a step, in the order they apply."""
PATTERNS: dict[str, Callable[[Value, Named], Part]] = {"match": parts.match, "match_rules": parts.match_rules}
MIDDLE: dict[str, Callable[[Value], Part]] = {
    "lookup": parts.lookup,
    "distinct": parts.distinct,
    "route": parts.route,
}
_LATER = ("join",)
_TIMES: dict[str, Callable[[Value], Part | None]] = {
    "event_time": parts.event_time,
    "ingestion_time": lambda value: parts.clock_time("ingestion", value),
    "processing_time": lambda value: parts.clock_time("processing", value),
}
_STEP_HINT = "such as {from: tx, where: amount > 50}"


@dataclass(frozen=True)
class SourceEntry:
    """A source, and what gives its rows their time."""

    node: Source
    where: str
    time: Part | None


@dataclass(frozen=True)
class Query:
    """The `sql` of a step and the tables it reads."""

    text: str
    where: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class StepEntry:
    """A step: what it reads, then its parts. The name goes to the middle one, or else to the last."""

    where: str
    inputs: tuple[Scalar, ...]
    union: str = ""
    """Where `union` stands, if the inputs are united."""
    before: tuple[Part, ...] = ()
    middle: Part | Query | None = None
    after: tuple[Part, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    """Where the value of each key stands."""


@dataclass(frozen=True)
class SinkEntry:
    """A sink and what it reads."""

    where: str
    input: Scalar
    connector: Connector
    mode: WriteMode | None
    places: Mapping[str, str] = field(default_factory=dict)


def source(name: str, where: str, value: Value) -> SourceEntry:
    """One entry of `sources`."""
    given = fields(
        value, wanted="a connector and its options", hint="such as {memory: {}, schema: id string}"
    )
    faults = Faults()
    connector = faults.attempt(options.connector, given, SOURCE, f"the source `{name}`", "source")
    read = collected(given, _SOURCE, faults)
    time = _time(given, faults)
    faults.raise_any()
    assert connector is not None
    return SourceEntry(source_node(name, connector, **read), where, time)


def step(name: str, where: str, value: Value) -> StepEntry:
    """One entry of `steps`."""
    given, faults = fields(value, wanted="the keys of a step", hint=_STEP_HINT), Faults()
    for key in [key for key in given if key in _LATER]:
        faults.add(given.key_at(key), f"`{key}` can't be used in documents yet", "leave the step out")
    only(given, (*STEP, *_LATER), f"the step `{name}`", faults)
    inputs = faults.attempt(_inputs, given) or ()
    before = [
        _part(given, "where", parts.where, faults),
        _part(given, "with_columns", parts.with_columns, faults),
    ]
    before.append(_time(given, faults))
    middle = _middle(given, faults)
    after = [_part(given, "select", parts.select, faults), _part(given, "drop", parts.drop, faults)]
    entry = StepEntry(
        where,
        inputs,
        given["union"].where if "union" in given else "",
        tuple(part for part in before if part is not None),
        middle,
        tuple(part for part in after if part is not None),
        _places(given, "lookup", "distinct", "match", "match_rules"),
    )
    if not faults.problems:
        _whole(entry, given, faults)
    faults.raise_any()
    return entry


def sink(name: str, where: str, value: Value) -> SinkEntry:
    """One entry of `sinks`."""
    given = fields(value, wanted="`from` and a connector", hint="such as {from: totals, console: {}}")
    faults = Faults()
    connector = faults.attempt(options.connector, given, _SINK, f"the sink `{name}`", "sink")
    if "from" not in given:
        faults.add(where, f"`from` of the sink `{name}` is missing", "name the step that it writes")
    read = collected(given, _SINK, faults)
    faults.raise_any()
    assert connector is not None
    return SinkEntry(where, read["from"], connector, read.get("mode"), _places(given, connector.kind))


def _places(given: Fields, *inside: str) -> dict[str, str]:
    """Where each key's value stands; for those named in `inside`, also the keys of that value."""
    found = {key: given[key].where for key in given}
    for key in inside:
        value = given.get(key)
        if isinstance(value, Fields):
            found |= {inner: value[inner].where for inner in value if inner not in found}
    return found


def _part(given: Fields, key: str, read: Callable[[Value], Part | None], faults: Faults) -> Part | None:
    return faults.attempt(read, given[key]) if key in given else None


def _time(given: Fields, faults: Faults) -> Part | None:
    found = [key for key in _TIMES if key in given]
    for key in found[1:]:
        faults.add(
            given.key_at(key), f"expected one kind of time, got `{found[0]}` and `{key}`", "remove one"
        )
    return _part(given, found[0], _TIMES[found[0]], faults) if found else None


def _inputs(given: Fields) -> tuple[Scalar, ...]:
    if "from" in given and "union" in given:
        fault(
            given.key_at("union"),
            "expected either `from` or `union`, got both",
            "list all streams in `union`",
        )
    if "union" in given:
        value = given["union"]
        if not isinstance(value, Items) or len(value.items) < 2:
            fault(
                value.where,
                f"expected a list of two or more streams, got {_counted(value)}",
                "such as [big, home]",
            )
        return tuple(_reference(item) for item in value.items)
    if "from" in given:
        return (_reference(given["from"]),)
    if "sql" not in given:
        fault(given.where, "the step reads nothing: `from` is missing", _STEP_HINT)
    return ()


def _counted(value: Value) -> str:
    return f"{len(value.items)}" if isinstance(value, Items) else str(value)


def _reference(value: Value) -> Scalar:
    if isinstance(value, Items):
        fault(value.where, "expected one stream, got a list", "unite streams with union: [a, b]")
    text(value, wanted="the name of a source or step, or an output such as `totals.late`")
    assert isinstance(value, Scalar)
    return value


def _middle(given: Fields, faults: Faults) -> Part | Query | None:
    found = [key for key in ("aggregate", *PATTERNS, *MIDDLE, "sql") if key in given]
    for key in found[1:]:
        faults.add(
            given.key_at(key), f"a step does one thing, got `{found[0]}` and `{key}`", "make two steps of it"
        )
    for key in ("key_by", "window", "ttl", "emit"):
        keyed = key == "key_by" and any(word in given for word in PATTERNS)
        if key in given and "aggregate" not in given and not keyed and not any(w in given for w in _LATER):
            faults.add(
                given.key_at(key),
                f"`{key}` needs `aggregate` in the same step",
                "such as aggregate: {n: count(*)}",
            )
    keys = faults.attempt(parts.keys, given["key_by"]) if "key_by" in given else ()
    if not found:
        return None
    if found[0] == "sql":
        return faults.attempt(_query, given["sql"])
    if found[0] == "aggregate":
        return _aggregate(given, keys or (), faults)
    if found[0] in PATTERNS:
        return faults.attempt(PATTERNS[found[0]], given[found[0]], keys or ())
    return faults.attempt(MIDDLE[found[0]], given[found[0]])


def _aggregate(given: Fields, keys: Named, faults: Faults) -> Part | None:
    window, emits, ttl = given.get("window"), given.get("emit"), given.get("ttl")
    return faults.attempt(parts.aggregate, given["aggregate"], keys, window, emits, ttl)


def _query(value: Value) -> Query:
    query = text(value, wanted="a query in Spark SQL")
    with at(value):
        return Query(query, value.where, sql_facts.read(query, where="").tables)


def _whole(entry: StepEntry, given: Fields, faults: Faults) -> None:
    if not (entry.union or entry.before or entry.middle or entry.after):
        faults.add(given.where, "the step does nothing", "add where, select, aggregate, ...")
    if isinstance(entry.middle, Query) and not entry.inputs and entry.before:
        faults.add(given.where, "without `from`, `sql` begins the step", "put the condition into the query")
    if isinstance(entry.middle, Query) and entry.inputs and "this" not in entry.middle.tables:
        faults.add(
            entry.middle.where, "the query doesn't read `this`, which is what `from` says", "leave `from` out"
        )
    if "route" in given and entry.after:
        faults.add(
            entry.after[0].where, f"`{entry.after[0].verb}` can't follow `route`", "make two steps of it"
        )


_SOURCE: dict[str, Reader] = {
    "format": options.record_format,
    "schema": options.schema,
    "on_error": lambda value: word(value, get_args(OnError)),
}
_SINK: dict[str, Reader] = {"from": _reference, "mode": lambda value: word(value, get_args(WriteMode))}
