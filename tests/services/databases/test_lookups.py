"""Lookups by key in tables of database servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import Server

from headrace import Pipeline, connect
from headrace.connectors.base import Connector
from headrace.connectors.lookups import LookupContext
from headrace.errors import HeadraceError
from headrace.lookups.worker import LookupTask, WorkerLookup


def connector(server: Server, table: str, **options: Any) -> Connector:
    return getattr(connect, server.kind)(url=server.url, table=table, **options)  # type: ignore[no-any-return]


def test_rows_are_read_by_key(spark: SparkSession, server: Server, table: str, tmp_path: Path) -> None:
    server.sql(
        f"CREATE TABLE {table} (id bigint PRIMARY KEY, name varchar(20), since date, score double precision)"
    )
    server.sql(f"INSERT INTO {table} VALUES (1, 'ä', '2026-01-02', 0.1), (3, null, null, null)")
    pipeline = Pipeline(f"lookup-{table}")
    rows = pipeline.read("tx", connect.memory(rows=[{"id": n} for n in range(5)]), schema="id int")
    actual = rows.lookup("name", connector(server, table), on="id", load="key", on_miss="dead_letter")
    actual.write("out", connect.files(path=tmp_path / "out", format="json"))
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    lines = [line for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(map(json.loads, lines), key=lambda row: row["id"]) == [
        {"id": 1, "name": "ä", "since": "2026-01-02", "score": 0.1},
        {"id": 3, "name": None, "since": None, "score": None},
    ]
    unrouted = (tmp_path / "checkpoint" / "unrouted" / "name.dead_letters").glob("*.json")
    assert sum(len(file.read_text().splitlines()) for file in unrouted) == 3


def test_thousands_of_keys_of_several_columns(server: Server, table: str) -> None:
    server.sql(f"CREATE TABLE {table} (card varchar(20), number int, v int, PRIMARY KEY (card, number))")
    server.sql(f"INSERT INTO {table} VALUES ('a', 1, 10), ('A', 2, 20), ('50%%', 3, 30)".replace("%%", "%"))
    lookup = connector(server, table).key_table(LookupContext("step", ("card", "number"), None))
    reader = lookup.connect()
    keys = [("a", "1"), ("a", "2"), ("50%", "3"), *(("x", str(number)) for number in range(7_000))]
    actual = reader.rows(keys)
    reader.close()
    # MariaDB compares text without case: `A` is not the key that was looked up.
    assert {key: rows for key, rows in actual.items() if key in keys} == {
        ("a", "1"): [("10",)],
        ("50%", "3"): [("30",)],
    }


def test_keys_with_quotes_braces_and_backslashes(server: Server, table: str) -> None:
    backslash = "chr(92)" if server.kind == "postgres" else "char(92)"
    server.sql(f"CREATE TABLE {table} (card varchar(20) PRIMARY KEY, v int)")
    server.sql(
        f"""INSERT INTO {table} VALUES ('a"b', 1), ('{{c,d}}', 2), (concat('e', {backslash}), 3), ('', 4)"""
    )
    reader = connector(server, table).key_table(LookupContext("step", ("card",), None)).connect()
    actual = reader.rows([('a"b',), ("{c,d}",), ("e\\",), ("",), ("null",)])
    reader.close()
    assert actual == {('a"b',): [("1",)], ("{c,d}",): [("2",)], ("e\\",): [("3",)], ("",): [("4",)]}


def test_server_that_comes_back_is_retried(
    spark: SparkSession, server: Server, table: str, tmp_path: Path
) -> None:
    server.sql(f"CREATE TABLE {table} (id bigint PRIMARY KEY, v int)")
    server.sql(f"INSERT INTO {table} VALUES (1, 10), (2, 20)")
    lookup = connector(server, table, retry_timeout="5 minutes").key_table(
        LookupContext("step", ("id",), None)
    )
    worker = WorkerLookup(LookupTask("task", "step", 1, lookup, 0, 0.0))
    assert worker.find([("1",)]) == [[("10",)]]
    server.stop()
    server.start()
    assert worker.find([("2",), ("3",)]) == [[("20",)], ()]
    worker.close()


def test_unknown_table_and_column_are_reported_before_the_run(server: Server, table: str) -> None:
    with pytest.raises(HeadraceError, match=f"unknown table `{table}`"):
        connector(server, table).key_table(LookupContext("step", ("id",), None))
    server.sql(f"CREATE TABLE {table} (id bigint PRIMARY KEY)")
    with pytest.raises(HeadraceError, match="has no column `card`"):
        connector(server, table).key_table(LookupContext("step", ("card",), None))
