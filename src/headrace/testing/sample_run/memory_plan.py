"""Replace every connector of a plan by memory, so that a test run reads sample rows and writes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from headrace.connectors.base import Connector
from headrace.connectors.memory import Memory
from headrace.formats import Format
from headrace.formats.json import Json
from headrace.plan.graph import Graph
from headrace.schemas.fields import Schema
from headrace.steps.base import Node
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.endpoints.table import TableReader
from headrace.steps.patterns.match_rules import MatchRules
from headrace.testing.sample_run.inputs import Line, parse, place_of, read_object
from headrace.testing.transcripts.script import decodes, record_format, schema_of
from headrace.testing.transcripts.values import micros_of_plain
from headrace.yaml.errors import ErrorCollector, raise_problem

Lines = Sequence[Line]


class MemoryChanges(Memory):
    """Rows in memory that are the changes of a table."""

    captures_changes: ClassVar[bool] = True


def with_memory(graph: Graph, lines: Mapping[str, Lines], directory: Path) -> Graph:
    """Return the plan with sources, sinks and tables in memory; tables hold the rows of their lines.

    Args:
        graph: a validated plan.
        lines: the lines of each input.
        directory: for the files of rules.

    Raises:
        DocumentError: a table has no rows, or a line is not a JSON object.
    """
    errors = ErrorCollector()
    replaced: dict[type[Node], Callable[[Any, Lines], Node]] = {
        Source: _source,
        Sink: lambda node, _: replace(node, connector=Memory()),
        MatchRules: lambda node, own: _rules(node, own, directory),
    }
    nodes: dict[str, Node] = {}
    for node in graph:
        kept = _table_reader if isinstance(node, TableReader) else lambda node, _: node
        replacement = replaced.get(type(node), kept)
        nodes[node.name] = errors.attempt(replacement, node, lines.get(node.name, ())) or node
    errors.raise_any()
    return Graph(graph.name, nodes, graph.places)


def _source(node: Source, lines: Lines) -> Source:
    schema = _with_metadata(node, lines)
    if not decodes(node):
        memory = MemoryChanges() if node.connector.captures_changes else Memory()
        return replace(node, connector=memory, format=None, schema=schema)
    chosen = record_format(node) if schema == schema_of(node) else _json(node.format)
    return replace(node, connector=Memory().with_format(chosen), format=chosen, schema=schema)


def _json(format_: Format | None) -> Json:
    """Return the format of records that have metadata as fields, beside the columns of the source."""
    return format_ if isinstance(format_, Json) else Json()


def _with_metadata(node: Source, lines: Lines) -> Schema:
    """Return the schema of a source with its metadata columns, whose types are those of the sample rows."""
    own, names = schema_of(node), node.connector.metadata_columns
    rows = [row for line in lines if isinstance(row := parse(line.text), dict)]
    added = {name: type_of([row.get(name) for row in rows]) for name in names}
    return Schema((*own.fields, *Schema.of(added).fields)) if added else own


def _table_reader(node: TableReader, lines: Lines) -> Node:
    if not isinstance(node.table, Connector) or isinstance(node.table, Memory):
        return node
    rows = [read_object(node.name, line) for line in _require(node.name, lines)]
    names = dict.fromkeys(name for row in rows for name in row)
    schema = node.schema or Schema.of({name: type_of([row.get(name) for row in rows]) for name in names})
    return node.with_rows(rows, schema)


def _rules(node: MatchRules, lines: Lines, directory: Path) -> MatchRules:
    if not isinstance(node.table, Connector):
        return node
    file = directory / f"{uuid.uuid4().hex}.jsonl"
    file.write_text("".join(f"{line.text}\n" for line in _require(node.name, lines)))
    return replace(node, table=str(file))


def _require(name: str, lines: Lines) -> Lines:
    if not lines:
        hint = "a test run reads no table: add its rows as JSON lines"
        raise_problem(place_of(name), f"the rows of the table of `{name}` are missing", hint)
    return lines


def type_of(values: Sequence[Any]) -> str:
    """Return the column type of JSON values, as DDL.

    >>> type_of([None, 1]), type_of([1, 1.5]), type_of(["2026-03-02T09:00:00Z"]), type_of([{"op": "insert"}])
    ('bigint', 'double', 'timestamp', 'struct<`op`: string>')
    """
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        names = dict.fromkeys(name for value in known for name in value)
        fields = (f"`{name}`: {type_of([value.get(name) for value in known])}" for name in names)
        return f"struct<{', '.join(fields)}>"
    if known and all(isinstance(value, list) for value in known):
        return f"array<{type_of([item for value in known for item in value])}>"
    kinds = {type(value) for value in known}
    if kinds == {str} and all("T" in value and micros_of_plain(value) is not None for value in known):
        return "timestamp"
    if kinds and kinds <= {int, float}:
        return "bigint" if kinds == {int} else "double"
    return "boolean" if kinds == {bool} else "string"
