"""Card fraud finds what was planted, keeps what is broken, and agrees with Spark as a batch.

The demo runs the other twin.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.examples_at_hand import Example, in_any_order, json_rows, rows_of

from headrace.connectors.flatten import expressions
from headrace.connectors.generator import Generator
from headrace.lowering.frames import frame_of
from headrace.plan.graph import Graph
from headrace.runtime.options import RunOptions
from headrace.runtime.run import start
from headrace.steps.base import Ref
from headrace.steps.endpoints.source import Source
from headrace.testing import run_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("abroad", "tested", "totals")


def at_once(graph: Graph) -> Graph:
    """The plan with its recording replayed without waiting."""
    [source] = graph.of(Source)
    assert isinstance(source.connector, Generator)
    fast = source.connector.model_copy(update={"speed": "max"})
    return graph.plus(dataclasses.replace(source, connector=fast))


def read_table(table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect("fraud.db")) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute(f"select * from {table}")]
    return [{name: value for name, value in row.items() if not name.startswith("pane_")} for row in rows]


def read_expected(table: str) -> list[dict[str, Any]]:
    rows = json_rows(Path("expected.jsonl"))
    return [{k: v for k, v in row.items() if k != "table"} for row in rows if row["table"] == table]


def test_finds_what_was_planted(
    example: Callable[[str], Example],
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    actual = example("card_fraud")
    with start(
        at_once(actual.pipeline("py")._plan()), RunOptions(until="drained", checkpoint="checkpoint")
    ) as running:
        running.wait()
    for table in TABLES:
        assert in_any_order(read_table(table)) == in_any_order(read_expected(table)), table
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["id"] for row in printed if "id" in row} == {row["id"] for row in read_expected("abroad")}
    kept = json_rows(*Path("checkpoint/unrouted/payments.dead_letters").glob("*.json"))
    assert len(kept) == 3
    assert {dead_letter["field"] for dead_letter in kept} >= {"amount", "ts"}


@pytest.mark.parametrize("table", TABLES)
def test_batch_gives_the_same_rows_as_the_stream(
    table: str, example: Callable[[str], Example], spark: SparkSession
) -> None:
    frame = frame_of(example("card_fraud").pipeline("yaml")._plan(), Ref(table), how="batch")
    plain = frame.selectExpr(*expressions(frame.schema.jsonValue(), text=True))
    rows = [{k: v for k, v in row.items() if not k.startswith("pane_")} for row in rows_of(plain)]
    assert in_any_order(rows) == in_any_order(read_expected(table))


def test_changed_window_fails_its_transcript_with_the_rows_that_differ(
    example: Callable[[str], Example], spark: SparkSession
) -> None:
    example("card_fraud")
    document = Path("pipeline.yaml")
    document.write_text(document.read_text().replace("tumbling: 10 minutes", "tumbling: 5 minutes"))
    [outcome] = run_files([Path("pipeline.transcript.yaml")], only="tested card", spark=spark).outcomes
    assert outcome.failure.splitlines()[0].endswith("totals: expected no rows, 1 row came")
    assert "window: {start: 2026-03-02T09:00:00Z, end: 2026-03-02T09:05:00Z}, n: 1" in outcome.failure
