"""Test runs without Spark: the inputs of a plan, its connectors in memory, rows at their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace import yaml
from headrace.connectors.base import Connector
from headrace.connectors.memory import Memory
from headrace.errors import DocumentError, HeadraceError, OptionError, SourceError
from headrace.plan.graph import Graph
from headrace.steps.endpoints.source import Source
from headrace.testing.sample_run.inputs import MAX_ROWS, Line, feed_of, inputs_of, split_batches
from headrace.testing.sample_run.memory_plan import with_memory
from headrace.testing.sample_run.run import PreparedRun, locate_failure
from headrace.yaml.errors import ErrorCollector

DOCUMENT = """name: payments
sources:
  tx:
    kafka: {servers: "broker:9092", topic: payments}
    format: json
    schema: "card string, amount double, ts timestamp"
    event_time: {column: ts}
  prices: {postgres: {url: "postgresql://db/shop", table: prices, cursor: id}, schema: "id bigint, price int"}
steps:
  homes: {from: tx, lookup: {mysql: {url: "mysql://db/shop", table: homes}, on: card}}
  totals: {from: homes, key_by: card, window: {tumbling: 1 minute}, aggregate: {total: sum(amount)}}
sinks:
  out: {from: totals, postgres: {url: "postgresql://db/shop", table: totals, key: [card, window]}}
  calls: {from: prices, webhook: {url: "http://example.org/hook"}}
  bad: {from: tx.dead_letters, files: {path: bad}}
"""


def plan(document: str = DOCUMENT) -> Graph:
    return yaml.from_text(document, file="pipeline.yaml")


def prepare(rows: dict[str, str], directory: Path, document: str = DOCUMENT) -> PreparedRun:
    return PreparedRun(plan(document), rows, directory)


def source(document: str, name: str) -> Source:
    node = plan(document)[name]
    assert isinstance(node, Source)
    return node


def test_inputs_are_sources_and_tables_with_a_row_that_fits() -> None:
    inputs = {entry.name: (entry.kind, json.loads(entry.example)) for entry in inputs_of(plan())}
    assert inputs["tx"] == ("source", {"card": "text", "amount": 1.5, "ts": "2026-03-02T09:00:00Z"})
    assert inputs["prices"] == ("source", {"id": 1, "price": 1})
    assert inputs["homes"][0] == "table"


def test_every_connector_is_replaced_by_memory(tmp_path: Path) -> None:
    prepared = prepare({"tx": '{"card": "a"}', "homes": '{"card": "a", "country": "FI"}'}, tmp_path)
    nodes = list(prepared.graph)
    connectors = [getattr(node, "connector", None) or getattr(node, "table", None) for node in nodes]
    kinds = [type(each) for each in connectors if isinstance(each, Connector)]
    assert len(kinds) >= 6
    assert set(kinds) == {Memory}


def test_table_without_rows_is_a_problem_not_a_query(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"rows\.homes:1: the rows of the table of `homes` are missing"):
        prepare({"tx": '{"card": "a"}'}, tmp_path)


def test_rules_of_a_database_are_read_from_their_lines(tmp_path: Path) -> None:
    document = """name: rules
sources: {tx: {memory: {}, schema: "card string, amount double, ts timestamp", event_time: {column: ts}}}
steps:
  found: {from: tx, key_by: card, match_rules: {table: {postgres: {url: "postgresql://db/x", table: rules}}}}
sinks: {out: {from: found, console: {}}}
"""
    rule = '{"id": "large", "steps": [{"large": "amount > 100"}], "within": "1 hour"}'
    graph = with_memory(plan(document), {"found": [Line(1, rule)]}, tmp_path)
    assert Path(getattr(graph["found"], "table")).read_text() == rule + "\n"  # noqa: B009


def test_source_with_metadata_has_the_columns_of_its_rows(tmp_path: Path) -> None:
    document = """name: topics
sources:
  tx:
    kafka: {servers: "broker:9092", topic: a, metadata: {timestamp: sent_at, partition: part}}
    format: csv
    schema: "card string"
sinks: {out: {from: tx, console: {}}}
"""
    text = '{"card": "a", "sent_at": "2026-03-02T09:00:00Z", "part": 3}'
    node = with_memory(plan(document), {"tx": [Line(1, text)]}, tmp_path)["tx"]
    assert isinstance(node, Source)
    assert node.schema is not None
    assert node.schema.ddl == "card string, sent_at timestamp, part bigint"
    assert node.format is not None
    assert (node.format.name, node.outputs) == ("json", ("", "dead_letters"))


def test_rows_are_split_into_micro_batches_by_blank_lines() -> None:
    assert split_batches("tx", "\n\n") == []
    batches = split_batches("tx", "\n a\nb\n \n\nc")
    assert [[(line.number, line.text) for line in batch] for batch in batches] == [
        [(2, "a"), (3, "b")],
        [(6, "c")],
    ]


def test_too_many_rows_are_rejected() -> None:
    with pytest.raises(OptionError, match=f"at most {MAX_ROWS} rows"):
        split_batches("tx", "{}\n" * (MAX_ROWS + 1))


def test_row_that_does_not_fit_has_its_line_and_column(tmp_path: Path) -> None:
    rows = {"prices": '{"id": 1}\n{"id": "two"}\nthree\n{"idd": 4}', "homes": '{"card": "a"}'}
    with pytest.raises(DocumentError) as raised:
        prepare(rows, tmp_path)
    places = [problem.where for problem in raised.value.problems]
    assert places == ["rows.prices:2: id", "rows.prices:3", "rows.prices:4: idd"]


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('{"card": "a", "amount": "b"}', b'{"card": "a", "amount": "b"}'),
        ('{"card":', b'{"card":'),
        ('"two\\nlines"', b"two\nlines"),
        ("[1]", b"[1]"),
    ],
)
def test_line_of_a_json_source_is_the_record_itself(line: str, record: bytes) -> None:
    assert feed_of(source(DOCUMENT, "tx"), Line(1, line), ErrorCollector()) == record


@pytest.mark.parametrize(
    ("line", "record"),
    [('{"n": 1, "card": "a,b"}', b'"a,b",1'), ("c,x", b"c,x"), ('{"other": 1}', b'{"other": 1}')],
)
def test_row_of_a_csv_source_is_written_as_csv(line: str, record: bytes) -> None:
    document = 'name: p\nsources: {tx: {files: {path: in}, format: csv, schema: "card string, n int"}}\n'
    assert feed_of(source(document, "tx"), Line(1, line), ErrorCollector()) == record


def test_unknown_input_is_rejected_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"(?s)no source or table is called `pries`.*prices"):
        prepare({"pries": "{}"}, tmp_path)


def test_rows_are_required(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="there are no sample rows"):
        prepare({"tx": "\n", "homes": '{"card": "a"}'}, tmp_path)


def test_failure_of_a_step_has_its_line_in_the_document() -> None:
    problem = locate_failure(plan(), SourceError("can't be computed", where="`totals`")).problems[0]
    assert problem.where.startswith("pipeline.yaml:11:")


def test_unknown_failure_has_no_hint_to_a_log_that_is_gone() -> None:
    error = locate_failure(plan(), ValueError("[DIVIDE_BY_ZERO] Division by zero."))
    assert isinstance(error, HeadraceError)
    assert (error.problems[0].what, error.problems[0].hint) == ("[DIVIDE_BY_ZERO] Division by zero.", "")
