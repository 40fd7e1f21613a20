"""Read the lines of a script from YAML and validate them against the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.durations import microseconds
from headrace.errors import did_you_mean
from headrace.plan.graph import Graph
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.facts import CHANGE
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import EventTime
from headrace.testing.transcripts.script import (
    Advance,
    Contents,
    End,
    Expect,
    Line,
    Restart,
    Rows,
    Rules,
    Watermark,
    decodes,
    output_of,
    outputs_of,
    schema_of,
    times_of,
)
from headrace.testing.transcripts.values import micros_of, record_of, row_of
from headrace.yaml.errors import ErrorCollector, locate_errors, raise_problem
from headrace.yaml.positions import Fields, Items, Scalar, Value, plain
from headrace.yaml.reading import read_flag, read_mapping, read_one_entry, read_word

_LINE_HINT = "such as `- rows: {tx: [{k: a, v: 1}]}`"


def read_script(value: Value, graph: Graph) -> tuple[Line, ...]:
    """Read the lines of a script, validated against the plan.

    Raises:
        DocumentError: lists every error.
    """
    if not isinstance(value, Items):
        raise_problem(value.where, f"expected a list of lines, got {value}", _LINE_HINT)
    errors = ErrorCollector()
    lines = [errors.attempt(_line, item, graph, errors) for item in value.items]
    if not errors.problems and not any(isinstance(line, Expect) for line in lines):
        what = "the script has no `expect` and no `contents`"
        errors.add(value.where, what, "add `- expect: {output: [...]}`")
    _check_order([line for line in lines if line is not None], errors)
    errors.raise_any()
    return tuple(line for line in lines if line is not None)


def retracting_sources(value: Value) -> frozenset[str]:
    """Return the sources whose rows in a script include the old row of an update.

    Such changes name every row that they remove, so they are applied as they are, whatever the key.
    """
    lines = value.items if isinstance(value, Items) else ()
    inputs = [line["rows"] for line in lines if isinstance(line, Fields) and "rows" in line]
    return frozenset(
        name
        for source_rows in inputs
        if isinstance(source_rows, Fields)
        for name in source_rows
        if isinstance(rows := source_rows[name], Items) and any(map(_is_old_row, rows.items))
    )


def _is_old_row(row: Value) -> bool:
    change = row.get(CHANGE) if isinstance(row, Fields) else None
    return isinstance(change, Scalar) and change.text == "update_before"


def _line(value: Value, graph: Graph, errors: ErrorCollector) -> Line:
    kind, content = read_one_entry(value, expected="one line of a script", hint=_LINE_HINT)
    if kind not in LINES:
        where = value.key_at(kind) if isinstance(value, Fields) else value.where
        raise_problem(where, f"`{kind}` is not a line of a script", did_you_mean(kind, LINES))
    return LINES[kind](value.where, content, graph, errors)


def _rows(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Rows:
    sources = read_mapping(value, expected="sources and their rows", hint=_LINE_HINT)
    rows: dict[str, tuple[Mapping[str, Any] | bytes, ...]] = {}
    partitions: dict[str, tuple[str, ...]] = {}
    for name in sources:
        source = _source(sources, name, graph)
        by_partition = _by_partition(sources[name])
        if by_partition is None:
            rows[name] = _source_rows(source, sources[name], errors)
        else:
            parts = {key: _source_rows(source, by_partition[key], errors) for key in by_partition}
            rows[name] = tuple(row for part in parts.values() for row in part)
            partitions[name] = tuple(key for key, part in parts.items() for _ in part)
    return Rows(where, rows, partitions)


def _by_partition(value: Value) -> Fields | None:
    """Return the rows by partition of `{partitions: {0: [...], 1: [...]}}`; None for a plain list of rows."""
    if not isinstance(value, Fields) or "partitions" not in value:
        return None
    hint = "such as {partitions: {0: [...], 1: [...]}}"
    _, content = read_one_entry(value, expected="partitions", hint=hint)
    return read_mapping(content, expected="partitions and their rows", hint=hint)


def _source_rows(
    source: Source, value: Value, errors: ErrorCollector
) -> tuple[Mapping[str, Any] | bytes, ...]:
    schema = schema_of(source)
    if not isinstance(value, Items):
        raise_problem(value.where, f"expected a list of rows, got {value}", "such as [{k: a, v: 1}]")
    if decodes(source) and source.format is not None:
        records = [errors.attempt(record_of, item, source.format, schema, errors) for item in value.items]
        return tuple(record for record in records if record is not None)
    rows = [errors.attempt(row_of, item, schema, errors) for item in value.items]
    return tuple(row for row in rows if row is not None)


def _watermark(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Watermark:
    watermarks = read_mapping(value, expected="sources and their watermarks", hint="such as {tx: 25}")
    for name in watermarks:
        _source(watermarks, name, graph)
        if not any(isinstance(node, EventTime) for node in times_of(graph, name)):
            raise_problem(
                watermarks.key_at(name),
                f"`{name}` has no event time, so it has no watermark",
                "add event_time to the source, or advance the clock with `advance`",
            )
    return Watermark(where, {name: micros_of(watermarks[name]) for name in watermarks})


def _source(fields: Fields, name: str, graph: Graph) -> Source:
    node = graph.nodes.get(name)
    if not isinstance(node, Source):
        known = [source.name for source in graph.of(Source)]
        raise_problem(fields.key_at(name), f"unknown source `{name}`", did_you_mean(name, known))
    return node


def _expect(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Expect:
    outputs_read = read_mapping(value, expected="outputs and their rows", hint="such as {totals: [{n: 1}]}")
    outputs = {name: errors.attempt(_read_expect, outputs_read, name, graph) or () for name in outputs_read}
    return Expect(where, outputs, {name: outputs_read.key_at(name) for name in outputs_read})


def _contents(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Contents:
    expected = _expect(where, value, graph, errors)
    for name in expected.outputs:
        if not isinstance(graph.nodes.get(name), Sink):
            sinks = [sink.name for sink in graph.sinks]
            errors.add(expected.places[name], f"`{name}` is not a sink", did_you_mean(name, sinks))
    return Contents(expected.where, expected.outputs, expected.places)


def _read_expect(fields: Fields, name: str, graph: Graph) -> tuple[Mapping[str, Any], ...]:
    if output_of(graph, name) is None:
        raise_problem(fields.key_at(name), f"unknown output `{name}`", did_you_mean(name, outputs_of(graph)))
    value = fields[name]
    if not isinstance(value, Items):
        raise_problem(value.where, f"expected a list of rows, got {value}", "write [] for no rows")
    for item in value.items:
        if not isinstance(item, Fields):
            raise_problem(item.where, f"expected a row of columns, got {item}", "such as {k: a, n: 1}")
    return tuple(plain(item) for item in value.items)


def _rules(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Rules:
    tables = read_mapping(
        value, expected="steps and their rules", hint="such as {alerts: {small: {steps: [...]}}}"
    )
    known = [node.name for node in graph.of(MatchRules)]
    for name in tables:
        if name not in known:
            raise_problem(tables.key_at(name), f"unknown step with rules `{name}`", did_you_mean(name, known))
        read_mapping(tables[name], expected="rules by their ids", empty=True)
    return Rules(where, {name: tables[name] for name in tables})


def _advance(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Advance:
    with locate_errors(value.where):
        length = microseconds(value.text if isinstance(value, Scalar) else str(value))
    if length % 1000 or not length:
        raise_problem(value.where, f"expected whole milliseconds, at least one, got {value}")
    return Advance(where, length)


def _restart(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> Restart:
    kind, moment = read_one_entry(value, expected="kill", hint="write `kill` or {kill: before_commit}")
    if kind != "kill":
        raise_problem(value.where, f"expected kill, got `{kind}`", "write `kill` or {kill: before_commit}")
    if isinstance(moment, Scalar) and moment.value is None:
        return Restart(where, "between_epochs")
    read_word(moment, ("before_commit",))
    return Restart(where, "before_commit")


def _end(where: str, value: Value, graph: Graph, errors: ErrorCollector) -> End:
    if not read_flag(value):
        raise_problem(value.where, "expected `end: true`", "leave the line out if the input does not end")
    return End(where)


def _check_order(lines: list[Line], errors: ErrorCollector) -> None:
    ended = False
    for before, line in zip([None, *lines], lines, strict=False):
        if isinstance(line, Restart) and line.moment == "before_commit" and not isinstance(before, Rows):
            errors.add(
                line.where,
                "`kill: before_commit` must follow a `rows` line, whose epoch it kills",
                "move it after `rows`, or write `restart: kill`",
            )
        if ended and not isinstance(line, Expect):
            errors.add(line.where, "the input has ended: only `expect` and `contents` can follow `end`")
        ended = ended or isinstance(line, End)


LINES: dict[str, Callable[[str, Value, Graph, ErrorCollector], Line]] = {
    "rows": _rows,
    "rules": _rules,
    "watermark": _watermark,
    "expect": _expect,
    "contents": _contents,
    "advance": _advance,
    "restart": _restart,
    "end": _end,
}
