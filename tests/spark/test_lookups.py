"""Lookups: tables held whole and reloaded, rows read by key, and the rows without a match."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import Connector
from headrace.runtime.handle import RunHandle

ROWS = [{"id": 1, "card": "a"}, {"id": 2, "card": "b"}, {"id": 3, "card": None}, {"id": 4, "card": "a"}]
HOMES = [{"id": 1, "card": "a", "home": "FI"}, {"id": 4, "card": "a", "home": "FI"}]
UNKNOWN = [{"id": 2, "card": "b", "home": None}, {"id": 3, "card": None, "home": None}]


@pytest.fixture
def homes(tmp_path: Path) -> Connector:
    with closing(sqlite3.connect(tmp_path / "homes.db")) as database:
        database.execute("CREATE TABLE homes (card text, home text)")
        database.execute("INSERT INTO homes VALUES ('a', 'FI'), ('c', 'SE')")
        database.commit()
    return connect.sqlite(path=tmp_path / "homes.db", table="homes")


def stored(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for file in path.glob("*.json") for line in file.read_text().splitlines()]
    return sorted(lines, key=lambda row: row["id"])


def look_up(place: Path, table: Connector, rows: Any = None, **options: Any) -> RunHandle:
    """Run a lookup over the rows to the end; results are in `out`, dead letters in `unrouted`."""
    pipeline = Pipeline("lookups")
    source = connect.memory(rows=ROWS if rows is None else rows)
    stream = pipeline.read("tx", source, schema="id int, card string")
    stream.lookup("home", table, on="card", **options).write(
        "out", connect.files(path=place / "out", format="json")
    )
    run = pipeline.start(until="caught_up", checkpoint=place / "checkpoint")
    run.wait()
    return run


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_left_lookup_passes_rows_without_a_match(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    look_up(tmp_path, homes, **options)
    assert stored(tmp_path / "out") == sorted(HOMES + UNKNOWN, key=lambda row: row["id"])


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_inner_lookup_drops_and_counts_rows_without_a_match(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    run = look_up(tmp_path, homes, how="inner", **options)
    assert stored(tmp_path / "out") == HOMES
    accounting = run.status().steps["home"]
    assert (accounting.rows, accounting.unmatched, accounting.balanced) == (4, 2, True)


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_rows_without_a_match_become_dead_letters(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    look_up(tmp_path, homes, on_miss="dead_letter", **options)
    assert stored(tmp_path / "out") == HOMES
    assert stored(tmp_path / "checkpoint" / "unrouted" / "home.dead_letters") == [
        {"id": 2, "card": "b", "reason": "no row of sqlite `homes` has card = b"},
        {"id": 3, "card": None, "reason": "no row of sqlite `homes` has card = null"},
    ]
