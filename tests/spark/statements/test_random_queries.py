"""Random queries give the rows of Spark's batch SQL over the same tables, in a stream that is killed on the way."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.random_queries import COLUMNS, TIMES, RandomQueries, random_rows

from headrace.testing.transcripts.case import Case, read_case
from headrace.testing.transcripts.results.contents import remaining_rows
from headrace.testing.transcripts.results.outputs import show
from headrace.testing.transcripts.runner import start_run
from headrace.testing.transcripts.runs.lines import apply_line

QUERIES = 6
"""The queries of one script."""
PARTS = 3

Rows = dict[str, list[dict[str, Any]]]


def script_of(queries: list[str]) -> str:
    sources = [
        f"CREATE SOURCE {table} ({columns}, WATERMARK FOR {TIMES[table]} AS {TIMES[table]}) WITH (connector = 'memory');"
        for table, columns in COLUMNS.items()
    ]
    sinks = [f"CREATE SINK q{n} WITH (connector = 'memory') AS {query};" for n, query in enumerate(queries)]
    return "\n".join([*sources, *sinks])


def case_of(queries: list[str], rows: Rows, chance: random.Random) -> Case:
    """Return the case of queries that read the rows in parts; the stream is killed after some of them."""
    lines: list[dict[str, Any]] = []
    for part in range(PARTS):
        fed = {table: part_of(rows[table], part) for table in rows}
        lines.append({"rows": fed})
        lines += chance.choice([[], [{"restart": "kill"}], [{"restart": {"kill": "before_commit"}}]])
    contents: dict[str, list[str]] = {f"q{n}": [] for n in range(len(queries))}
    return read_case(
        {
            "name": "random",
            "sql": script_of(queries),
            "script": [*lines, {"end": True}, {"contents": contents}],
        }
    )


def part_of(rows: list[dict[str, Any]], part: int) -> list[dict[str, Any]]:
    return rows[len(rows) * part // PARTS : len(rows) * (part + 1) // PARTS]


def streamed(case: Case, spark: SparkSession) -> list[list[str]]:
    """Return the content of each sink in a form that can be compared."""
    run = start_run(case, spark)
    try:
        for number, line in enumerate(case.script):
            apply_line(line, run, kill=case.kills_in(number))
        contents = [remaining_rows(run.all_rows(name), ()) for name in case.outputs]
    finally:
        run.close()
    return [comparable(list(rows)) for rows in contents]


def batched(query: str, rows: Rows, spark: SparkSession) -> list[str]:
    session = spark.newSession()
    for table, columns in COLUMNS.items():
        lines = spark.sparkContext.parallelize([json.dumps(row) for row in rows[table]])
        session.read.json(lines, schema=columns).createOrReplaceTempView(table)
    return comparable(session.sql(query).toArrow().to_pylist())


def comparable(rows: list[Any]) -> list[str]:
    hidden = ("window", "pane", "change")
    lines = (show([_plain(value) for name, value in row.items() if name not in hidden]) for row in rows)
    return sorted(re.sub(r"(?<=\d)Z", "", line) for line in lines)


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        value = value.isoformat()
    if isinstance(value, str) and value.startswith("2026-"):
        return value.replace(" ", "T").replace("+00:00", "").rstrip("Z").removesuffix(".000000")
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def compare(seed: int, spark: SparkSession) -> None:
    chance = random.Random(seed)
    draws = RandomQueries(seed)
    queries = [draws.query() for _ in range(QUERIES)]
    rows = {table: random_rows(chance, table) for table in COLUMNS}
    results = streamed(case_of(queries, rows, chance), spark)
    for query, result in zip(queries, results, strict=True):
        assert result == batched(query, rows, spark), query


@pytest.mark.parametrize("seed", range(2))
def test_random_queries_give_the_rows_of_a_batch(seed: int, spark: SparkSession) -> None:
    compare(seed, spark)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(2, 40))
def test_more_random_queries_give_the_rows_of_a_batch(seed: int, spark: SparkSession) -> None:
    compare(seed, spark)
