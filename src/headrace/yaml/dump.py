"""Printing a plan as the document that loads back to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from headrace.connectors.base import Connector
from headrace.durations import text as length
from headrace.errors import DocumentError, Problem
from headrace.formats import Format
from headrace.plan.graph import Graph
from headrace.steps.base import Node
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import source_node
from headrace.steps.expressions import Expression, Named, Opaque, PythonFold
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup, lookup_node
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.streams.pipeline import Pipeline
from headrace.yaml.faults import Faults
from headrace.yaml.fold import Folded, FoldedSource, FoldedStep
from headrace.yaml.printing import printed
from headrace.yaml.written import emit_of, window_of
from headrace.yaml.written_patterns import fates_of, match_of

Keys = dict[str, Any]
_PLAIN_HINT = "use text, numbers, true and false, lists and mappings"
_COLUMN_HINT = "write it as Spark SQL text"


def dump(plan: Pipeline | Graph) -> str:
    """A pipeline as YAML text; `from_text` reads it back to an equal plan.

    Steps without a name are folded into the steps that read them; where that can't be they keep their made-up name, such
    as `tx:select`.

    >>> from headrace import Pipeline, yaml
    >>> pipeline = yaml.from_text("sources: {tx: {memory: {}, schema: amount double}}", name="p")
    >>> print(yaml.dump(pipeline), end="")
    name: p
    sources:
      tx: {memory: {}, schema: amount double}

    Raises:
        DocumentError: the plan holds what no document can: a pyspark Column, a DataFrame, a `datetime` in an option.
    """
    graph = plan.graph if isinstance(plan, Pipeline) else plan
    folded, faults = Folded(graph), Faults()
    for frame in folded.frames:
        faults.add(
            graph.where(frame), "a DataFrame can't be written in a document", "read it from a connector"
        )
    sources = {s.node.name: faults.attempt(_placed, graph, s.node, _source, s) for s in folded.sources}
    steps = {s.name: faults.attempt(_placed, graph, s.nodes[-1], _step, s, folded) for s in folded.steps}
    sinks = {s.name: faults.attempt(_placed, graph, s, _sink, s, folded) for s in graph.sinks}
    faults.raise_any()
    sections = {"sources": sources, "steps": steps, "sinks": sinks}
    return printed({"name": graph.name, **{key: entries for key, entries in sections.items() if entries}})


def _placed(graph: Graph, node: Node, write: Callable[..., Keys], *given: Any) -> Keys:
    try:
        return write(*given)
    except _UnprintableError as found:
        raise DocumentError([Problem(graph.where(node), str(found), found.hint)]) from None


class _UnprintableError(Exception):
    """Something that no document can hold."""

    def __init__(self, what: str, hint: str = _COLUMN_HINT) -> None:
        super().__init__(what)
        self.hint = hint


def _source(source: FoldedSource) -> Keys:
    node = source.node
    implied = source_node(node.name, node.connector)
    keys: Keys = _connector(node.connector)
    if node.format is not None and node.format != implied.format:
        keys["format"] = _format(node.format)
    implied = source_node(node.name, node.connector, format=node.format)
    if node.schema is not None and node.schema != implied.schema:
        keys["schema"] = node.schema.ddl
    if node.on_error != "divert":
        keys["on_error"] = node.on_error
    return keys | (_KEYS[type(source.time)](source.time) if source.time else {})


def _step(step: FoldedStep, folded: Folded) -> Keys:
    keys = _inputs(step.nodes[0], folded)
    for node in step.nodes:
        keys |= _KEYS[type(node)](node)
    return keys


def _inputs(node: Node, folded: Folded) -> Keys:
    if isinstance(node, Union):
        return {"union": [folded.text(ref) for ref in node.streams]}
    if not isinstance(node, Sql | RowPattern):
        return {"from": folded.text(node.inputs[0])}
    tables = node.tables if isinstance(node, Sql) else ((node.table, node.input),)
    for table, ref in tables:
        if table not in ("this", folded.text(ref)):
            raise _UnprintableError(
                f"its query calls `{folded.text(ref)}` by the name `{table}`", "name the stream so"
            )
    this = dict(tables).get("this")
    return {"from": folded.text(this)} if this else {}


def _sink(node: Sink, folded: Folded) -> Keys:
    keys = {"from": folded.text(node.input), **_connector(node.connector)}
    return keys | {"mode": node.mode} if node.mode else keys


def _event_time(node: EventTime) -> Keys:
    keys: Keys = {"column": node.column}
    if node.out_of_order:
        keys["out_of_order"] = length(node.out_of_order)
    if node.idle is not None:
        keys["idle"] = length(node.idle)
    if node.max_ahead is not None:
        keys["max_ahead"] = length(node.max_ahead)
    if node.watermark_when is not None:
        keys["watermark_when"] = _text(node.watermark_when)
    return {"event_time": keys if len(keys) > 1 else node.column}


def _select(node: Select) -> Keys:
    names = [name for name, _ in node.columns]
    if all(names) and len(set(names)) == len(names):
        return {"select": _named(node.columns)}
    return {"select": [{name: _text(item)} if name else _text(item) for name, item in node.columns]}


def _keys(keys: Named) -> Keys:
    names = [name for name, _ in keys]
    if not keys:
        return {}
    if all(name != item for name, item in keys) and len(set(names)) == len(names):
        return {"key_by": _named(keys)}
    items = [_text(item) if name == item else {name: _text(item)} for name, item in keys]
    return {"key_by": items if len(items) > 1 else items[0]}


def _aggregate(node: Aggregate) -> Keys:
    return {**_keys(node.keys), "aggregate": _named(node.aggregates)}


def _window(node: WindowAggregate) -> Keys:
    emits = emit_of(node.emission)
    return {
        **_keys(node.keys),
        "window": window_of(node.window),
        **({"ttl": length(node.ttl)} if node.ttl is not None else {}),
        **({"emit": emits} if emits else {}),
        "aggregate": _named(node.aggregates),
    }


def _match(node: Match) -> Keys:
    return {**_keys(node.keys), "match": match_of(node, _text)}


def _match_rules(node: MatchRules) -> Keys:
    table = _connector(node.table) if isinstance(node.table, Connector) else node.table
    keys: Keys = {"rules": table}
    if node.measures is not None:
        keys["measures"] = node.measures.ddl
    if node.order != "event_time":
        keys["order"] = node.order
    if node.longest is not None:
        keys["longest"] = length(node.longest)
    return {**_keys(node.keys), "match_rules": keys | fates_of(node)}


def _lookup(node: Lookup) -> Keys:
    if isinstance(node.table, Opaque):
        raise _UnprintableError("a DataFrame can't be written in a document", "look up in a connector")
    keys = _connector(node.table)
    keys["on"] = _one_or_more(node.on)
    implied = lookup_node(node.name, node.input, node.table, on=node.on)
    if node.format is not None and node.format != implied.format:
        keys["format"] = _format(node.format)
    if node.schema is not None and node.schema != implied.schema:
        keys["schema"] = node.schema.ddl
    return {"lookup": keys if node.how == "left" else keys | {"how": node.how}}


def _distinct(node: Distinct) -> Keys:
    keys: Keys = {"on": _one_or_more(node.on)}
    return {"distinct": keys if node.within is None else keys | {"within": length(node.within)}}


_KEYS: dict[type[Node], Callable[[Any], Keys]] = {
    EventTime: _event_time,
    ClockTime: lambda node: {node.column: True},
    Where: lambda node: {"where": _text(node.condition)},
    WithColumns: lambda node: {"with_columns": _named(node.columns)},
    Select: _select,
    Drop: lambda node: {"drop": _one_or_more(node.columns)},
    Union: lambda node: {},
    Route: lambda node: {"route": _named(node.branches)},
    Distinct: _distinct,
    Lookup: _lookup,
    Sql: lambda node: {"sql": node.query},
    RowPattern: lambda node: {"sql": node.query},
    Aggregate: _aggregate,
    WindowAggregate: _window,
    Match: _match,
    MatchRules: _match_rules,
}


def _connector(connector: Connector) -> Keys:
    return {connector.kind: _options(connector)}


def _format(chosen: Format) -> Any:
    options = _options(chosen)
    return {chosen.name: options} if options else chosen.name


def _options(model: BaseModel) -> Keys:
    written: Keys = _plain(model.model_dump(by_alias=True, exclude_defaults=True))
    if type(model)(**written) != model:  # a datetime in the rows of `memory` would come back as text
        kind = getattr(model, "kind", getattr(model, "name", ""))
        raise _UnprintableError(f"the options of `{kind}` hold values that YAML has no word for", _PLAIN_HINT)
    return written


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _named(columns: Named) -> dict[str, str]:
    return {name: _text(item) for name, item in columns}


def _text(expression: Expression) -> str:
    if isinstance(expression, PythonFold):
        raise _UnprintableError(f"an aggregate in Python, {expression}, can't be written in a document")
    if isinstance(expression, Opaque):
        raise _UnprintableError("a pyspark Column can't be written in a document")
    return expression


def _one_or_more(names: tuple[str, ...]) -> Any:
    return list(names) if len(names) != 1 else names[0]
