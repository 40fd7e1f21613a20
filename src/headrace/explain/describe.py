"""A step in a few words, as `explain` shows it: what it does, when it fires, where it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import SecretStr

from headrace.connectors.base import Connector
from headrace.durations import text
from headrace.errors import without_passwords
from headrace.explain.pattern_phrases import condition_phrases, pattern_phrase
from headrace.explain.phrases import emission_phrases, window_phrase
from headrace.formats import Format
from headrace.plan.graph import Graph
from headrace.schemas.fields import Schema
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Named
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate

_CLOCKS = {"ingestion": "the batch that read the row", "processing": "the step that uses it"}
_SECRET = re.compile(r"password|passwd|secret|token|credential|api_?key", re.IGNORECASE)


def facts_of(graph: Graph, node: Node) -> tuple[str, ...]:
    """What a step does, as short phrases, the most telling first."""
    said = _SAID[type(node)](node) if type(node) in _SAID else []
    return (*(phrase for phrase in said if phrase), *_kept(graph, node))


def connector_phrase(connector: Connector) -> str:
    """The kind of a connector and the options that were given; what looks like a secret is masked."""
    given = [(name, getattr(connector, name)) for name in type(connector).model_fields]
    shown = [
        (name, value)
        for name, value in given
        if name in connector.model_fields_set and not isinstance(value, Format | Schema) and value is not None
    ]
    return " ".join([connector.kind, *(f"{name}={_masked(name, value)}" for name, value in shown)])


def named(columns: Named) -> str:
    """`n = count(*), total = sum(amount)`; a column that keeps its name is said once."""
    return ", ".join(str(item) if name in ("", item) else f"{name} = {item}" for name, item in columns)


def _masked(name: str, value: object) -> str:
    if isinstance(value, SecretStr) or _SECRET.search(name):
        return "***"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return without_passwords(str(value))


def _kept(graph: Graph, node: Node) -> list[str]:
    """Side outputs that nobody reads are still kept: say where they go."""
    free = [
        out
        for out in node.outputs
        if out in ("late", "dead_letters", "timeouts") and not graph.consumers[Ref(node.name, out)]
    ]
    if isinstance(node, Source) and node.on_error != "divert":
        return []
    nouns = {"late": "late rows", "dead_letters": "dead letters"}
    return [f"{nouns.get(out, out)} are counted and kept in files" for out in free]


def _source(node: Source) -> list[str]:
    columns = ", ".join(f"{field.name} {field.type}" for field in node.schema.fields) if node.schema else ""
    on_error = {"skip": "skips what doesn't decode", "fail": "fails on what doesn't decode"}.get(
        node.on_error, ""
    )
    return [connector_phrase(node.connector), node.format.name if node.format else "", columns, on_error]


def _event_time(node: EventTime) -> list[str]:
    idle = f"idle after {text(node.idle)}" if node.idle is not None else ""
    moved = f"watermark moved by rows with {node.watermark_when}" if node.watermark_when is not None else ""
    order = f"up to {text(node.out_of_order)} out of order" if node.out_of_order else "in order"
    ahead = f"at most {text(node.max_ahead)} ahead of the clock" if node.max_ahead is not None else ""
    return [f"event time is {node.column}", order, idle, moved, ahead]


def _lookup(node: Lookup) -> list[str]:
    table = connector_phrase(node.table) if isinstance(node.table, Connector) else "a DataFrame"
    unmatched = "nulls where nothing matches" if node.how == "left" else "drops rows that match nothing"
    return [f"in {table}", f"on {', '.join(node.on)}", unmatched]


def _distinct(node: Distinct) -> list[str]:
    within = f"within {text(node.within)}" if node.within is not None else "for ever"
    return [f"on {', '.join(node.on)}", within]


def _given(ref: Ref) -> str:
    """A step that has no name of its own is called after the one it follows."""
    return str(Ref(ref.step.split(":")[0], ref.output))


def _by(keys: Named) -> str:
    return f"by {named(keys)}" if keys else "over all rows"


def _window(node: WindowAggregate) -> list[str]:
    return [
        window_phrase(node.window),
        _by(node.keys),
        *emission_phrases(node.emission, node.window),
        f"state of a key expires {text(node.ttl)} after its last row" if node.ttl is not None else "",
        named(node.aggregates),
    ]


def _match(node: Match) -> list[str]:
    within, skip = node.within, "" if node.skip.kind == "past_last" else f"skip {node.skip}"
    return [
        pattern_phrase(node.pattern),
        _by(node.keys),
        f"within {text(within.whole)}" if within.whole else "",
        f"rows less than {text(within.between)} apart" if within.between else "",
        "in arrival order" if node.order == "arrival" else "",
        skip,
        *condition_phrases(node.pattern),
        named(node.select) if node.select else "",
        *_only_counted(node),
    ]


def _match_rules(node: MatchRules) -> list[str]:
    table = connector_phrase(node.table) if isinstance(node.table, Connector) else node.table
    return [
        f"the rules of {table}, as they are when a batch begins",
        _by(node.keys),
        f"each within {text(node.longest)} at most" if node.longest else "",
        "in arrival order" if node.order == "arrival" else "",
        f"measures {node.measures.ddl}" if node.measures is not None else "",
        *_only_counted(node),
    ]


def _only_counted(node: Match | MatchRules) -> list[str]:
    said = {"timeouts": "timeouts", "late": "late rows"}
    return [f"{words} are only counted" for output, words in said.items() if output not in node.outputs]


def _sink(node: Sink) -> list[str]:
    return [connector_phrase(node.connector), f"mode {node.mode}" if node.mode else ""]


_SAID: dict[type[Node], Callable[..., list[str]]] = {
    Source: _source,
    EventTime: _event_time,
    ClockTime: lambda node: [f"time is the clock of {_CLOCKS[node.clock]}"],
    Where: lambda node: [str(node.condition)],
    Select: lambda node: [named(node.columns)],
    WithColumns: lambda node: [named(node.columns)],
    Drop: lambda node: [", ".join(node.columns)],
    Union: lambda node: [" + ".join(_given(ref) for ref in node.streams)],
    Route: lambda node: [f"{name} if {condition}" for name, condition in node.branches],
    Distinct: _distinct,
    Lookup: _lookup,
    Sql: lambda node: [" ".join(node.query.split())],
    RowPattern: lambda node: [" ".join(node.query.split())],
    Aggregate: lambda node: ["running", _by(node.keys), named(node.aggregates)],
    WindowAggregate: _window,
    Match: _match,
    MatchRules: _match_rules,
    Sink: _sink,
}
