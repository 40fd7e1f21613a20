"""Lookups: tables held whole and reloaded, rows read by key, and the rows without a match."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import wait_until

from headrace import Pipeline, connect, windows
from headrace.connectors.base import Connector
from headrace.errors import PlanError
from headrace.lookups.snapshots import SnapshotReader, Snapshots, SnapshotTable
from headrace.runtime.handle import RunHandle

ROWS = [{"id": 1, "card": "a"}, {"id": 2, "card": "b"}, {"id": 3, "card": None}, {"id": 4, "card": "a"}]
HOMES: list[dict[str, Any]] = [{"id": 1, "card": "a", "home": "FI"}, {"id": 4, "card": "a", "home": "FI"}]
UNKNOWN: list[dict[str, Any]] = [{"id": 2, "card": "b", "home": None}, {"id": 3, "card": None, "home": None}]


@pytest.fixture
def homes(tmp_path: Path) -> Connector:
    with closing(sqlite3.connect(tmp_path / "homes.db")) as database:
        database.execute("CREATE TABLE homes (card text, home text)")
        database.execute("INSERT INTO homes VALUES ('a', 'FI'), ('c', 'SE')")
        database.commit()
    return connect.sqlite(path=tmp_path / "homes.db", table="homes")


def read_stored(path: Path) -> list[dict[str, Any]]:
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
def test_row_of_the_table_that_does_not_satisfy_the_condition_is_no_match(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    where = "left.id > 1 and right.home = 'FI' and right.card = 'a'"
    look_up(tmp_path, homes, where=where, **options)
    first = {"id": 1, "card": "a", "home": None}
    assert read_stored(tmp_path / "out") == sorted([first, HOMES[1], *UNKNOWN], key=lambda row: row["id"])


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_left_lookup_passes_rows_without_a_match(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    look_up(tmp_path, homes, **options)
    assert read_stored(tmp_path / "out") == sorted(HOMES + UNKNOWN, key=lambda row: row["id"])


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_inner_lookup_drops_and_counts_rows_without_a_match(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    run = look_up(tmp_path, homes, how="inner", **options)
    assert read_stored(tmp_path / "out") == HOMES
    accounting = run.status().steps["home"]
    assert (accounting.rows, accounting.unmatched, accounting.balanced) == (4, 2, True)


@pytest.mark.parametrize("options", [{}, {"load": "key"}, {"refresh": "1 hour"}])
def test_rows_without_a_match_become_dead_letters(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, str]
) -> None:
    run = look_up(tmp_path, homes, on_miss="dead_letter", **options)
    assert run.status().dead_letters == 2
    assert read_stored(tmp_path / "out") == HOMES
    assert read_stored(tmp_path / "checkpoint" / "unrouted" / "home.dead_letters") == [
        {"id": 2, "card": "b", "reason": "no row of sqlite `homes` has card = b"},
        {"id": 3, "card": None, "reason": "no row of sqlite `homes` has card = null"},
    ]


def test_dead_letter_keeps_an_input_column_called_reason(
    spark: SparkSession, tmp_path: Path, homes: Connector
) -> None:
    pipeline, out = Pipeline("reasons"), connect.memory()
    rows = connect.memory(rows=[{"card": "b", "reason": "gift"}])
    stream = pipeline.read("tx", rows, schema="card string, reason string")
    stream.lookup("home", homes, on="card", on_miss="dead_letter").dead_letters.write("out", out)
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    [row] = out.contents()
    assert (row["input_reason"], row["reason"]) == ("gift", "no row of sqlite `homes` has card = b")


def test_table_with_several_rows_of_a_key_multiplies_rows(
    spark: SparkSession, tmp_path: Path, homes: Connector
) -> None:
    with closing(sqlite3.connect(tmp_path / "homes.db")) as database:
        database.execute("INSERT INTO homes VALUES ('a', 'NO')")
        database.commit()
    look_up(tmp_path, homes, load="key")
    actual = [(row["id"], row["home"]) for row in read_stored(tmp_path / "out")]
    assert sorted(actual, key=str) == [(1, "FI"), (1, "NO"), (2, None), (3, None), (4, "FI"), (4, "NO")]


def test_name_in_a_type_of_the_table_is_no_expression(spark: SparkSession, tmp_path: Path) -> None:
    name = "a') || current_user() || from_json('{}', 'b"
    (tmp_path / "homes.json").write_text(json.dumps({"card": "a", "home": {name: "FI"}}) + "\n")
    table = connect.files(path=tmp_path / "homes.json")
    options = {"format": "json", "schema": f"card string, home struct<`{name}`: string>"}
    look_up(tmp_path, table, on_miss="drop", refresh="1 hour", **options)
    assert [row["home"] for row in read_stored(tmp_path / "out")] == [{name: "FI"}] * 2


def test_several_key_columns_of_different_types(spark: SparkSession, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "limits.db")) as database:
        database.execute("CREATE TABLE limits (card text, id bigint, most real)")
        database.execute("INSERT INTO limits VALUES ('a', 1, 2.5), ('a', 4, null), ('b', 3, 1)")
        database.commit()
    pipeline = Pipeline("lookups")
    rows = pipeline.read("tx", connect.memory(rows=ROWS), schema="id int, card string")
    table = connect.sqlite(path=tmp_path / "limits.db", table="limits")
    rows.lookup("limit", table, on=["card", "id"], load="key", on_miss="drop").write(
        "out", connect.files(path=tmp_path / "out", format="json")
    )
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert [(row["id"], row["most"]) for row in read_stored(tmp_path / "out")] == [(1, 2.5), (4, None)]


@pytest.mark.parametrize("options", [{"load": "key"}, {"refresh": "1 hour"}])
def test_lookup_before_a_window_and_its_dead_letters(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, Any]
) -> None:
    pipeline = Pipeline("lookups")
    rows = [{"id": n, "card": card, "ts": f"2026-01-01T00:00:0{n}Z"} for n, card in enumerate("abca")]
    stream = pipeline.read("tx", connect.memory(rows=rows), schema="id int, card string, ts timestamp")
    actual = stream.lookup("home", homes, on="card", on_miss="dead_letter", **options)
    counts = actual.event_time("ts").key_by("home").window(windows.tumbling("1 minute"))
    counts.aggregate("counts", id="count(*)").write(
        "out", connect.files(path=tmp_path / "out", format="json")
    )
    actual.dead_letters.write("missing", connect.files(path=tmp_path / "missing", format="json"))
    pipeline.run(until="drained", checkpoint=tmp_path / "checkpoint")
    assert [(row["home"], row["id"]) for row in read_stored(tmp_path / "out")] == [("SE", 1), ("FI", 2)]
    assert [row["card"] for row in read_stored(tmp_path / "missing")] == ["b"]


@pytest.mark.parametrize("options", [{"load": "key", "cache": 0}, {"refresh": "1 microsecond"}, {}])
def test_timed_lookup_feeds_a_window(
    spark: SparkSession, tmp_path: Path, homes: Connector, options: dict[str, Any]
) -> None:
    pipeline = Pipeline("lookups")
    rows = [{"id": n, "card": card, "ts": f"2026-01-01T00:00:0{n}Z"} for n, card in enumerate("abca")]
    stream = pipeline.read("tx", connect.memory(rows=rows), schema="id int, card string, ts timestamp")
    actual = stream.event_time("ts").lookup("home", homes, on="card", on_miss="drop", **options)
    counts = actual.key_by("home").window(windows.tumbling("1 minute"))
    counts.aggregate("counts", id="count(*)").write(
        "out", connect.files(path=tmp_path / "out", format="json")
    )
    pipeline.run(until="drained", checkpoint=tmp_path / "checkpoint")
    assert [(row["home"], row["id"]) for row in read_stored(tmp_path / "out")] == [("SE", 1), ("FI", 2)]


def test_changed_file_is_reloaded_in_the_next_epoch(spark: SparkSession, tmp_path: Path) -> None:
    table, inbox = tmp_path / "homes.csv", tmp_path / "in"
    inbox.mkdir()
    table.write_text("a,FI\n")
    pipeline = Pipeline("lookups")
    rows = pipeline.read("tx", connect.files(path=inbox, format="json"), schema="id int, card string")
    homes = connect.files(path=table, format="csv", schema="card string, home string")
    rows.lookup("home", homes, on="card", refresh="1 microsecond").write(
        "out", connect.files(path=tmp_path / "out", format="json")
    )
    run = pipeline.start(checkpoint=tmp_path / "checkpoint")
    try:
        for number, home in enumerate(["FI", "SE", "SE", "NO"]):
            table.write_text(f"a,{home}\n" if home != "NO" else f"a,{home}\nb,{home}\n")
            (tmp_path / "draft").write_text(json.dumps({"id": number, "card": "a"}))
            (tmp_path / "draft").rename(inbox / f"{number}.json")
            wait_until(lambda: len(read_stored(tmp_path / "out")) > number, run)  # noqa: B023 - called at once
    finally:
        run.stop()
    assert [row["home"] for row in read_stored(tmp_path / "out")] == ["FI", "SE", "SE", "NO"]


def test_replayed_epoch_sees_the_same_table(spark: SparkSession, tmp_path: Path) -> None:
    tables = iter([[("a", "FI")], [("a", "SE")], [("a", "NO")]])
    read = lambda: spark.createDataFrame(next(tables), "card string, home string")  # noqa: E731
    before = Snapshots("home", tmp_path, read, ["card"], 0.0)
    before.enter(0)
    before.enter(1)
    again = Snapshots("home", tmp_path, read, ["card"], 0.0)  # a new run, which replays epoch 1
    reader = SnapshotReader(SnapshotTable(str(tmp_path), 1, {"home": "{}"}, ""))
    again.enter(1)
    assert reader.rows([("a",)]) == {("a",): [("SE",)]}
    again.enter(2)
    assert reader.rows([("a",)]) == {("a",): [("NO",)]}
    assert sorted(path.name for path in tmp_path.glob("*.arrow")) == ["1.arrow", "2.arrow"]


def test_table_that_cannot_be_reloaded_keeps_its_last_version(spark: SparkSession, tmp_path: Path) -> None:
    frames = [spark.createDataFrame([("a", "FI")], "card string, home string")]
    snapshots = Snapshots("home", tmp_path, frames.pop, ["card"], 0.0)
    snapshots.enter(0)
    snapshots.enter(1)  # no frame is left: reading fails
    reader = SnapshotReader(SnapshotTable(str(tmp_path), 1, {"home": "{}"}, ""))
    assert reader.rows([("a",)]) == {("a",): [("FI",)]}


def test_key_of_an_inexact_type_is_rejected(spark: SparkSession, tmp_path: Path, homes: Connector) -> None:
    pipeline = Pipeline("lookups")
    rows = pipeline.read("tx", connect.memory(rows=[]), schema="id int, card double")
    rows.lookup("home", homes, on="card", load="key").write("out", connect.console())
    with pytest.raises(PlanError, match="a lookup by key cannot use `card`, which is double"):
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
