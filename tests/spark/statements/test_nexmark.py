"""The queries of the Nexmark benchmark as SQL over its generator: a stream that is killed gives the rows of a batch."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.testing.transcripts.case import Case, read_case
from headrace.testing.transcripts.results.batch import batch_failures, late_outputs
from headrace.testing.transcripts.results.contents import remaining_rows
from headrace.testing.transcripts.results.outputs import Output
from headrace.testing.transcripts.runner import start_run
from headrace.testing.transcripts.runs.lines import apply_line

FOLDER = Path(__file__).parents[2] / "support" / "nexmark"
TABLES = ("person", "auction", "bid")
BY_CLOCK = "q12"
OVER_CHANGES = "q4"
"""An aggregate of an aggregate, which the comparison with a batch leaves out; Spark runs it as it is."""
QUERIES = [f"q{number}" for number in range(23) if f"q{number}" not in (BY_CLOCK, OVER_CHANGES)]
PARTS = 3
UNDISTURBED: list[dict[str, Any]] = [{}, {}]
KILLED: list[dict[str, Any]] = [{"restart": {"kill": "before_commit"}}, {"restart": "kill"}]

Row = dict[str, Any]
Rows = dict[str, list[Row]]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Rows:
    """The events of 30 seconds."""
    rows = {}
    for table in TABLES:
        source = connect.nexmark(table=table, events=600, event_rate=20)
        frame = source.reader().batch(spark, ReadContext("p", table, None, None, "")).drop("__position")
        rows[table] = [
            {name: _plain(value) for name, value in row.items()} for row in frame.toArrow().to_pylist()
        ]
    return rows


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def case_of(query: str, events: Rows, pauses: list[dict[str, Any]]) -> Case:
    """Return the case of a query, which reads the events in parts with a line of the script after each."""
    script: list[dict[str, Any]] = []
    for part in range(PARTS):
        bounds = {table: len(rows) * part // PARTS for table, rows in events.items()}
        ends = {table: len(rows) * (part + 1) // PARTS for table, rows in events.items()}
        script.append({"rows": {table: events[table][bounds[table] : ends[table]] for table in TABLES}})
        script += [line for line in pauses[part : part + 1] if line]
    statements = "".join((FOLDER / f"{name}.sql").read_text() for name in ("sources", query))
    return read_case(
        {"name": query, "sql": statements, "script": [*script, {"end": True}, {"contents": {"results": []}}]}
    )


def run(case: Case, spark: SparkSession) -> tuple[list[Output], list[str]]:
    """Return the content of the sink, and the differences to a batch."""
    late = late_outputs(case)
    started = start_run(case, spark, also=late)
    try:
        for number, line in enumerate(case.script):
            apply_line(line, started, kill=case.kills_in(number))
        return remaining_rows(started.all_rows("results"), ()), batch_failures(started, case, late)
    finally:
        started.close()


@pytest.fixture
def side_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table that q13 looks up in."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("side_input.db") as database:
        database.execute("create table side_input (id integer primary key, value text)")
        database.executemany(
            "insert into side_input values (?, ?)",
            [(number, f"value {number}") for number in range(1000, 1040)],
        )
    database.close()


@pytest.mark.usefixtures("side_input")
@pytest.mark.parametrize("query", QUERIES)
def test_a_killed_stream_gives_the_rows_of_a_batch(query: str, events: Rows, spark: SparkSession) -> None:
    rows, differences = run(case_of(query, events, KILLED), spark)
    assert rows
    assert differences == []


@pytest.mark.proof
@pytest.mark.usefixtures("side_input")
@pytest.mark.parametrize("query", QUERIES)
def test_an_undisturbed_stream_gives_the_rows_of_a_batch(
    query: str, events: Rows, spark: SparkSession
) -> None:
    rows, differences = run(case_of(query, events, UNDISTURBED), spark)
    assert rows
    assert differences == []


@pytest.mark.parametrize("pauses", [UNDISTURBED, KILLED], ids=["undisturbed", "killed"])
def test_an_aggregate_of_aggregates_gives_the_rows_of_a_batch(
    pauses: list[dict[str, Any]], events: Rows, spark: SparkSession
) -> None:
    rows, _ = run(case_of(OVER_CHANGES, events, pauses), spark)
    session = spark.newSession()
    for table in TABLES:
        session.createDataFrame(
            [tuple(row.values()) for row in events[table]], list(events[table][0])
        ).createOrReplaceTempView(table)
    _, _, query = (FOLDER / f"{OVER_CHANGES}.sql").read_text().partition(" AS\n")
    expected = [row.asDict() for row in session.sql(query.strip().rstrip(";")).collect()]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)
    assert rows


def test_windows_of_processing_time_follow_the_clock(events: Rows, spark: SparkSession) -> None:
    pauses = [{"advance": "10 seconds"}, {"advance": "10 seconds"}]
    rows, _ = run(case_of(BY_CLOCK, events, pauses), spark)
    bids = events["bid"]
    bounds = [len(bids) * part // PARTS for part in range(PARTS + 1)]
    expected: Counter[tuple[int, int]] = Counter()
    for part in range(PARTS):
        expected.update((bid["bidder"], part) for bid in bids[bounds[part] : bounds[part + 1]])
    starts = sorted({row["starttime"] for row in rows})
    assert len(starts) == PARTS
    assert {(row["bidder"], starts.index(row["starttime"])): row["bid_count"] for row in rows} == expected
