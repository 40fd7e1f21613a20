"""Sources that read new rows by a cursor column: one suite for PostgreSQL, MariaDB and SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import KINDS, Server
from tests.support.waiting import wait_until

from headrace import Pipeline, connect
from headrace.connectors.base import Connector, ReadContext
from headrace.errors import SourceError

COLUMNS = "id bigint PRIMARY KEY, name varchar(20), at {moment}"
SCHEMA = "id bigint, name string, at timestamp"
MOMENT = {"postgres": "timestamptz", "mysql": "datetime(6)", "sqlite": "text"}


@dataclass
class Place:
    """A database with a table of the test's own."""

    kind: str
    table: str
    address: dict[str, Any]
    sql: Callable[..., Sequence[tuple[Any, ...]]]

    def source(self, **options: Any) -> Connector:
        value = {"cursor": "id", "delay": "0 seconds", "every": "10 milliseconds", **options}
        return getattr(connect, self.kind)(**self.address, table=self.table, **value)  # type: ignore[no-any-return]

    def add(self, *ids: int) -> None:
        values = ", ".join(f"({i}, 'n{i}', '2026-01-01 00:00:{i % 60:02d}.000001')" for i in ids)
        self.sql(f"INSERT INTO {self.table} VALUES {values}")


@pytest.fixture(params=[*sorted(KINDS), "sqlite"])
def place(request: pytest.FixtureRequest, table: str, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = _sqlite(tmp_path / "shop.db", table)
    else:
        server: Server = request.getfixturevalue("servers")(request.param)
        made = Place(request.param, table, {"url": server.url}, server.sql)
    made.sql(f"CREATE TABLE {table} ({COLUMNS.format(moment=MOMENT[made.kind])})")
    yield made
    made.sql(f"DROP TABLE IF EXISTS {table}")


def _sqlite(path: Path, table: str) -> Place:
    def sql(text: str) -> Sequence[tuple[Any, ...]]:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            return database.execute(text).fetchall()

    return Place("sqlite", table, {"path": path}, sql)


def run_once(place: Place, tmp_path: Path, **options: Any) -> list[tuple[int, str]]:
    """Run over the available rows, from the last checkpoint, and return the delivered ones."""
    box = connect.memory()
    pipeline = Pipeline("growing")
    pipeline.read("rows", place.source(**options), schema=SCHEMA).write("box", box)
    with pipeline.start(until="caught_up", checkpoint=tmp_path / "checkpoint") as running:
        running.wait()
    assert all(row["at"].microsecond == 1 for row in box.contents())
    return [(row["id"], row["name"]) for row in box.contents()]


def test_each_run_takes_what_has_been_added_since(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    place.add(1, 2, 7)
    assert run_once(place, tmp_path, max_per_batch=2, tasks=3) == [(1, "n1"), (2, "n2"), (7, "n7")]
    place.sql(f"UPDATE {place.table} SET name = 'other' WHERE id = 2")
    place.sql(f"DELETE FROM {place.table} WHERE id = 1")
    place.add(3, 8, 9, 10, 2**60)
    # 3 came behind the mark, and updates and deletes are not seen.
    assert run_once(place, tmp_path, tasks=3) == [(i, f"n{i}") for i in (8, 9, 10, 2**60)]
    place.add(2**60 + 1)
    assert run_once(place, tmp_path) == [(2**60 + 1, f"n{2**60 + 1}")]


def test_names_may_have_percent_signs(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    quote = "`" if place.kind == "mysql" else '"'
    place.sql(f"ALTER TABLE {place.table} RENAME COLUMN id TO {quote}of 100 %s{quote}")
    place.add(1, 2, 3)
    box, pipeline = connect.memory(), Pipeline("growing")
    source = place.source(cursor="of 100 %s", max_per_batch=2)
    pipeline.read("rows", source, schema="`of 100 %s` bigint, name string").write("box", box)
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert [(row["of 100 %s"], row["name"]) for row in box.contents()] == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_a_time_may_be_the_column_that_grows(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    place.add(5, 3, 4)
    assert run_once(place, tmp_path, cursor="at") == [(3, "n3"), (4, "n4"), (5, "n5")]
    place.add(6)
    assert run_once(place, tmp_path, cursor="at") == [(6, "n6")]


def test_new_checkpoint_begins_at_start(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    place.add(1, 2, 3)
    assert run_once(place, tmp_path / "from", start=2) == [(2, "n2"), (3, "n3")]
    assert run_once(place, tmp_path / "latest", start="latest") == []
    place.add(4)
    assert run_once(place, tmp_path / "latest", start="latest") == [(4, "n4")]


def test_a_batch_has_all_rows(spark: SparkSession, place: Place, context: Callable[..., ReadContext]) -> None:
    place.add(1, 2, 3)
    assert sorted(place.source().reader().batch(spark, context(SCHEMA)).collect())[0][:2] == (1, "n1")
    assert place.source(start=2).reader().batch(spark, context(SCHEMA)).count() == 2
    with pytest.raises(SourceError, match="a batch that starts at the latest row is empty"):
        place.source(start="latest").reader().batch(spark, context(SCHEMA))


def test_rows_are_followed_and_a_late_commit_within_the_delay_is_seen(
    spark: SparkSession, servers: Callable[[str], Server], table: str, tmp_path: Path
) -> None:
    server = servers("postgres")
    place = Place("postgres", table, {"url": server.url}, server.sql)
    place.sql(f"CREATE TABLE {table} ({COLUMNS.format(moment='timestamptz')})")
    box = connect.memory()
    pipeline = Pipeline("followed")
    pipeline.read("rows", place.source(delay="5 seconds"), schema=SCHEMA).write("box", box)
    with closing(server.connect()) as slow, pipeline.start(checkpoint=tmp_path) as running:
        with slow.transaction():
            slow.execute(f"INSERT INTO {table} VALUES (1, 'n1', now())")
            place.add(2)
        wait_until(lambda: len(box.contents()) == 2, running)
        running.kill()
    assert [row["id"] for row in box.contents()] == [1, 2]


@pytest.mark.parametrize(
    ("options", "schema", "message"),
    [
        ({"cursor": "idd"}, SCHEMA, r"rows: the table `T` has no column `idd`\n  hint: did you mean `id`"),
        ({}, "nome string", r"rows: the table `T` has no column `nome`\n  hint: did you mean `name`"),
    ],
)
def test_missing_columns_are_errors(
    spark: SparkSession, place: Place, tmp_path: Path, options: dict[str, Any], schema: str, message: str
) -> None:
    pipeline = Pipeline("lacking")
    pipeline.read("rows", place.source(**options), schema=schema).write("box", connect.memory())
    with pytest.raises(SourceError, match=message.replace("`T`", f"`{place.table}`")):
        pipeline.run(until="caught_up", checkpoint=tmp_path)
