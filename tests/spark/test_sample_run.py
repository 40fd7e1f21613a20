"""Test runs through Spark: rows of sinks and side outputs, problems at their lines, and nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.dashboard.editor.starters import STARTER
from headrace.errors import DocumentError
from headrace.jobs.sample_runs import SampleRuns
from headrace.jobs.security.policy import Policy
from headrace.streams.pipeline import Pipeline
from headrace.testing.sample_run.run import PreparedRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAYMENTS = """name: payments
sources:
  tx:
    kafka: {servers: "nowhere:9092", topic: payments}
    format: json
    schema: "card string, amount double, ts timestamp"
    event_time: {column: ts}
steps:
  totals: {from: tx, key_by: card, window: {tumbling: 1 minute}, aggregate: {total: sum(amount), n: count(*)}}
sinks:
  out: {from: totals, files: {path: PLACE/out, format: json}}
  hook: {from: totals, webhook: {url: "http://nowhere.invalid/hook"}}
"""
ROWS = """{"card": "a", "amount": 1.5, "ts": "2026-03-02T09:00:10Z"}
{"card": "a", "amount": 2, "ts": "2026-03-02T09:00:20Z"}
{"card": "b", "amount": "many", "ts": "2026-03-02T09:00:20Z"}
{"card": "b", "amo
{"card": "b", "amount": 1, "ts": "2026-03-02T09:05:00Z"}

{"card": "a", "amount": 9, "ts": "2026-03-02T09:00:30Z"}"""


def outputs_of(document: str, rows: dict[str, str], directory: Path, spark: SparkSession) -> dict[str, Any]:
    prepared = PreparedRun(Pipeline.from_yaml_text(document, file="pipeline.yaml")._plan(), rows, directory)
    return {output.name: output for output in prepared.run(spark).outputs}


def test_rows_reach_every_sink_and_side_output_and_nothing_is_written(
    tmp_path: Path, spark: SparkSession
) -> None:
    outputs = outputs_of(PAYMENTS.replace("PLACE", str(tmp_path)), {"tx": ROWS}, tmp_path, spark)
    assert list(outputs) == ["out", "hook", "tx.dead_letters", "totals.late"]
    totals = [(row["card"], row["window"]["start"], row["total"], row["n"]) for row in outputs["out"].rows]
    assert sorted(totals) == [("a", "2026-03-02T09:00:00Z", 3.5, 2), ("b", "2026-03-02T09:05:00Z", 1.0, 1)]
    assert outputs["hook"].count == 2
    letters = outputs["tx.dead_letters"].rows
    assert sorted(letter["raw"] for letter in letters) == ROWS.splitlines()[3:4] + ROWS.splitlines()[2:3]
    assert any("expected double" in letter["reason"] for letter in letters)
    [late] = outputs["totals.late"].rows
    assert (late["card"], late["amount"]) == ("a", 9.0)
    assert not (tmp_path / "out").exists()


def test_first_document_of_the_editor_runs_at_the_present_time(tmp_path: Path, spark: SparkSession) -> None:
    rows = '{"sensor": "sensor-1", "value": 1.0}\n{"sensor": "sensor-1", "value": 2.0}'
    [row] = outputs_of(STARTER, {"readings": rows}, tmp_path, spark)["printed"].rows
    assert (row["n"], row["mean"]) == (2, 1.5)
    assert row["window"]["start"] > "2026"


def test_lookup_reads_the_rows_of_its_text(tmp_path: Path, spark: SparkSession) -> None:
    document = """name: homes
sources: {tx: {memory: {}, schema: "card string"}}
steps: {home: {from: tx, lookup: {postgres: {url: "postgresql://nowhere/x", table: homes}, on: card}}}
sinks: {out: {from: home, console: {}}}
"""
    rows = {"tx": '{"card": "a"}\n{"card": "b"}', "home": '{"card": "a", "country": "FI", "since": 2020}'}
    enriched = outputs_of(document, rows, tmp_path, spark)["out"].rows
    assert sorted(enriched, key=str) == [
        {"card": "a", "country": "FI", "since": 2020},
        {"card": "b", "country": None, "since": None},
    ]


def test_metadata_is_a_field_of_the_row(tmp_path: Path, spark: SparkSession) -> None:
    document = """name: meta
sources:
  tx:
    kafka: {servers: "nowhere:9092", topic: a, metadata: {timestamp: sent_at}}
    format: json
    schema: "card string"
    event_time: {column: sent_at}
steps: {n: {from: tx, window: {tumbling: 1 hour}, aggregate: {n: count(*)}}}
sinks: {out: {from: n, console: {}}}
"""
    rows = {"tx": '{"card": "a", "sent_at": "2026-03-02T09:30:00Z"}'}
    [row] = outputs_of(document, rows, tmp_path, spark)["out"].rows
    assert (row["n"], row["window"]["start"]) == (1, "2026-03-02T09:00:00Z")


def test_changes_of_a_table_are_fed_with_their_operation(tmp_path: Path, spark: SparkSession) -> None:
    document = """name: cdc
sources:
  prices:
    postgres_cdc: {url: "postgresql://nowhere/x", table: prices, slot: s}
    schema: "id bigint, price int"
steps: {now: {from: prices, key_by: id, latest: {}}}
sinks: {out: {from: now, console: {}}}
"""
    rows = [
        '{"id": 1, "price": 5, "change": {"op": "insert"}}',
        '{"id": 1, "price": 6, "change": {"op": "update"}}',
    ]
    changes = outputs_of(document, {"prices": "\n\n".join(rows)}, tmp_path, spark)["out"].rows
    assert changes[-1]["price"] == 6


def test_windows_over_the_table_of_a_cdc_source_follow_the_order_of_commits(
    tmp_path: Path, spark: SparkSession
) -> None:
    document = """name: cdc
sources:
  changes:
    postgres_cdc: {url: "postgresql://nowhere/x", table: orders, slot: s}
    schema: "id bigint, amount int, ts timestamp"
    event_time: {column: ts, out_of_order: 1 hour}
steps:
  orders: {from: changes, key_by: id, latest: {}}
  hourly: {from: orders, window: {tumbling: 1 hour}, aggregate: {n: count(*), total: sum(amount)}}
sinks: {out: {from: hourly, console: {}}}
"""
    rows = [
        '{"id": 1, "amount": 5, "ts": "2026-03-02T09:30:00Z", "change": {"op": "insert"}}',
        '{"id": 1, "amount": 6, "ts": "2026-03-02T09:10:00Z", "change": {"op": "update"}}',
        '{"id": 2, "amount": 7, "ts": "2026-03-02T09:20:00Z", "change": {"op": "insert"}}',
        '{"id": 3, "amount": 8, "ts": "2026-03-02T09:20:00Z", "change": {"op": "insert"}}',
    ]
    deleted = '{"id": 2, "change": {"op": "delete"}}'
    outputs = outputs_of(document, {"changes": "\n".join(rows) + f"\n\n{deleted}"}, tmp_path, spark)
    assert [(row["n"], row["total"]) for row in outputs["out"].rows] == [(2, 14)]
    assert [name for name, output in outputs.items() if output.count] == ["out"]


def test_failure_of_an_expression_is_described(tmp_path: Path, spark: SparkSession) -> None:
    document = """name: division
sources: {tx: {memory: {}, schema: "n int"}}
steps: {share: {from: tx, select: ["1 div n as share"]}}
sinks: {out: {from: share, console: {}}}
"""
    with pytest.raises(DocumentError, match=r"(?i)division by zero") as raised:
        outputs_of(document, {"tx": '{"n": 0}'}, tmp_path, spark)
    assert raised.value.problems[0].where == "pipeline.yaml:3:9: `share`"
    assert "`1 div n as share`" in str(raised.value)
    assert "Spark's log" not in str(raised.value)


def test_process_of_a_run_returns_the_rows_within_the_memory_limit() -> None:
    runs = SampleRuns(Policy(memory_limit="700m"))
    result = runs.run(STARTER, {"readings": '{"sensor": "sensor-1", "value": 1.0}'})
    [output] = result["outputs"]
    assert (output["name"], output["count"], output["rows"][0]["n"]) == ("printed", 1, 1)
