"""The inputs of a test run: JSON lines for each source, table and table of rules.

A blank line starts the next micro-batch. A line is a row. For a source that decodes records it can be any
record: text, or a JSON string, which stands for a record with line breaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headrace.connectors.base import Connector
from headrace.connectors.memory import Memory
from headrace.errors import OptionError, did_you_mean
from headrace.plan.graph import Graph
from headrace.schemas.datatypes import Array, DataType, Decimal, Map, Struct
from headrace.schemas.fields import Schema
from headrace.steps.endpoints.source import Source
from headrace.steps.endpoints.table import TableReader
from headrace.steps.patterns.match_rules import MatchRules
from headrace.testing.transcripts.script import decodes, schema_of
from headrace.testing.transcripts.values import record_of, row_of
from headrace.yaml.errors import ErrorCollector, raise_problem
from headrace.yaml.positions import from_plain

MAX_ROWS = 1000
"""Lines of one input."""
Kind = Literal["source", "table", "rules"]
_ROW_HINT = 'a row is a JSON object on one line, such as {"card": "c1", "amount": 12.5}'
_EXAMPLES: dict[str, Any] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), 1),
    **dict.fromkeys(("float", "double"), 1.5),
    "boolean": True,
    "date": "2026-03-02",
    "timestamp": "2026-03-02T09:00:00Z",
    "timestamp_ntz": "2026-03-02T09:00:00",
}


@dataclass(frozen=True)
class SampleInput:
    """An input that sample rows replace, and a line that fits it."""

    name: str
    kind: Kind
    example: str


@dataclass(frozen=True)
class Line:
    """A line of an input, counted from 1."""

    number: int
    text: str


def inputs_of(graph: Graph) -> list[SampleInput]:
    """Return the inputs of a plan: its sources, and the tables that it reads from connectors."""
    return [SampleInput(node.name, kind, json.dumps(example)) for node, kind, example in _inputs(graph)]


def _inputs(graph: Graph) -> Iterator[tuple[Any, Kind, Mapping[str, Any]]]:
    for source in graph.of(Source):
        added = dict.fromkeys(source.connector.metadata_columns, "text")
        yield source, "source", example_of(schema_of(source)) | added
    for reader in graph.of(TableReader):
        if isinstance(reader.table, Connector) and not isinstance(reader.table, Memory):
            keys = dict.fromkeys(reader.on, "text")
            yield reader, "table", example_of(reader.schema) if reader.schema is not None else keys
    for rules in graph.of(MatchRules):
        if isinstance(rules.table, Connector):
            yield rules, "rules", {"id": "large", "steps": [{"large": "amount > 100"}], "within": "1 hour"}


def check_names(graph: Graph, names: Sequence[str]) -> None:
    """Reject rows for an input that the plan does not have.

    Raises:
        OptionError: with the nearest name.
    """
    known = [entry.name for entry in inputs_of(graph)]
    for name in names:
        if name not in known:
            raise OptionError(
                f"no source or table is called `{name}`", where="rows", hint=did_you_mean(name, known)
            )


def split_batches(name: str, text: str) -> list[list[Line]]:
    r"""Return the lines of an input by micro-batch; blank lines separate them.

    >>> [[line.number for line in batch] for batch in split_batches("tx", "a\nb\n\n\nc\n")]
    [[1, 2], [5]]

    Raises:
        OptionError: there are too many lines.
    """
    batches: list[list[Line]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):  # other separators can be part of a record
        if line.strip():
            batches[-1].append(Line(number, line.strip()))
        elif batches[-1]:
            batches.append([])
    count = sum(map(len, batches))
    if count > MAX_ROWS:
        raise OptionError(f"expected at most {MAX_ROWS} rows, got {count}", where=place_of(name))
    return [batch for batch in batches if batch]


def place_of(name: str, line: int = 1) -> str:
    """Return the location of a line for errors."""
    return f"rows.{name}:{line}"


def read_object(name: str, line: Line) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        DocumentError: the line is not a JSON object.
    """
    content = parse(line.text)
    if not isinstance(content, dict):
        raise_problem(place_of(name, line.number), "expected a JSON object", _ROW_HINT)
    return content


def feed_of(source: Source, line: Line, errors: ErrorCollector) -> Mapping[str, Any] | bytes | None:
    """Convert a line to a row or a record of its source; None after an error, which is collected."""
    if source.format is not None and decodes(source):
        return errors.attempt(_record, source, line, errors)
    row = errors.attempt(read_object, source.name, line)
    if row is None:
        return None
    value = from_plain(row, file=place_of(source.name, line.number))
    return errors.attempt(row_of, value, schema_of(source), errors)


def _record(source: Source, line: Line, errors: ErrorCollector) -> bytes:
    assert source.format is not None
    content = parse(line.text)
    if isinstance(content, str):
        return content.encode()
    schema = schema_of(source)
    if source.format.name == "json" or not isinstance(content, dict) or not content.keys() <= {*schema.names}:
        return line.text.encode()
    value = from_plain(content, file=place_of(source.name, line.number))
    return record_of(value, source.format, schema, errors)


def parse(text: str) -> Any:
    """Parse JSON text; None if it is invalid."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def example_of(schema: Schema) -> dict[str, Any]:
    """Return a row that fits a schema.

    >>> example_of(Schema.of("card string, n int"))
    {'card': 'text', 'n': 1}
    """
    return {field.name: _example(field.type) for field in schema.fields}


def _example(kind: DataType) -> Any:
    if isinstance(kind, Array):
        return [_example(kind.element)]
    if isinstance(kind, Map):
        return {"key": _example(kind.value)}
    if isinstance(kind, Struct):
        return {field.name: _example(field.type) for field in kind.fields}
    return 1.5 if isinstance(kind, Decimal) else _EXAMPLES.get(kind.name, "text")
