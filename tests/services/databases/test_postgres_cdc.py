"""CDC from a PostgreSQL table: the snapshot, then every change, across failures of the run or the server."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.sql import SparkSession
from tests.support.servers import DATABASE, Server
from tests.support.waiting import wait_until

from headrace import Pipeline, connect
from headrace.connectors import failpoints
from headrace.connectors.base import Connector, ReadContext
from headrace.connectors.postgres_cdc import PostgresCdc
from headrace.connectors.postgres_cdc.enumerator import CdcEnumerator
from headrace.connectors.postgres_cdc.replicated_table import describe_table
from headrace.connectors.retry import find_problem
from headrace.errors import SourceError
from headrace.formats import Schema

SCHEMA = "id bigint, name string, raw binary, at timestamp"


@dataclass
class Orders:
    """A table of a server, and a pipeline that reads its changes."""

    server: Server
    table: str
    work: Path
    position: dict[str, int] | None = None

    def sql(self, *texts: str) -> None:
        for text in texts:
            self.server.sql(text.format(t=self.table))

    @property
    def slot(self) -> str:
        return f"headrace_{self.table}_orders"

    def source(self, **options: Any) -> PostgresCdc:
        value = {"url": self.server.url, "table": self.table, "every": "10 milliseconds", **options}
        return connect.postgres_cdc(**value)

    def pipeline(self, *sinks: Connector, schema: str = SCHEMA, **options: Any) -> Pipeline:
        pipeline = Pipeline(self.table)
        rows = pipeline.read("orders", self.source(**options), schema=schema)
        for number, sink in enumerate(sinks):
            rows.write(f"out{number}", sink)
        return pipeline

    def once(self, *sinks: Connector, **options: Any) -> None:
        self.pipeline(*sinks, **options).run(until="caught_up", checkpoint=self.work)

    def taken(self, schema: str = SCHEMA, **options: Any) -> list[tuple[Any, ...]]:
        """Read the next changes (op, id, name) as Spark would, from where the last call ended."""
        context = ReadContext(self.table, "orders", Schema.of(schema), None, str(self.work / "source"))
        enumerator = CdcEnumerator(describe_table(self.source(**options), context, self.slot)[0])
        try:
            self.position = self.position or enumerator.initial()
            enumerator.available()
            rows = []
            while (end := enumerator.latest(self.position)) != self.position:
                rows += [row for split in enumerator.splits(self.position, end) for row in _rows(split)]
                self.position = end
                enumerator.commit(end)
        finally:
            enumerator.close()
        return [(row["__op"], int(row["id"]), row.get("name")) for row in rows]

    def refused(self, message: str, **options: Any) -> None:
        """Assert that reading fails with a message, hint included."""
        with pytest.raises((RuntimeError, SourceError)) as caught:
            self.taken(**options)
        text = str(find_problem(str(caught.value)) or caught.value)
        assert re.search(message, text), text


def _rows(split: bytes) -> list[dict[str, Any]]:
    with pyarrow.ipc.open_stream(split) as batches:
        return [row for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def orders(servers: Callable[[str], Server], table: str, tmp_path: Path) -> Iterator[Orders]:
    made = Orders(servers("postgres"), table, tmp_path / "work")
    made.sql("CREATE TABLE {t} (id bigint PRIMARY KEY, name text, raw bytea, at timestamptz)")
    yield made
    gone = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{}'"
    made.server.sql(gone.format(made.slot))
    made.sql("DROP TABLE IF EXISTS {t}")
    made.server.sql(f"DROP PUBLICATION IF EXISTS {made.slot}")


def test_snapshot_comes_first_then_every_change(spark: SparkSession, orders: Orders) -> None:
    orders.sql(
        "INSERT INTO {t} VALUES (1, 'a', '\\x00ff', '2026-01-02 03:04:05.000006+00'), (2, NULL, NULL, NULL)"
    )
    box = connect.memory()
    orders.once(box, before="old")
    first, second = sorted(box.contents(), key=lambda row: row["id"])
    assert (first["raw"], first["at"].microsecond, first["change"]["op"]) == (b"\x00\xff", 6, "snapshot")
    assert (second["name"], second["old"], second["change"]["at"]) == (None, None, None)

    orders.sql(
        "INSERT INTO {t} VALUES (3, 'c', '\\x01', now())",
        "UPDATE {t} SET name = 'b' WHERE id = 2",
        "UPDATE {t} SET id = 9 WHERE id = 3",
        "DELETE FROM {t} WHERE id = 1",
        "BEGIN; INSERT INTO {t} (id) VALUES (4); INSERT INTO {t} (id) VALUES (5); ROLLBACK",
    )
    box = connect.memory()
    orders.once(box, before="old")
    changes = [
        (row["change"]["op"], row["id"], row["name"], row["old"] and row["old"]["id"])
        for row in box.contents()
    ]
    assert changes == [
        *(
            ("insert", 3, "c", None),
            ("update", 2, "b", None),
            ("delete", 3, None, 3),
            ("insert", 9, "c", None),
        ),
        ("delete", 1, None, 1),
    ]
    assert box.contents()[0]["raw"] == b"\x01"
    places = [row["change"]["lsn"] for row in box.contents()]
    assert places == sorted(places)
    assert places[2] == places[3]
    assert box.contents()[0]["change"]["at"] is not None


def test_a_table_with_a_key_becomes_a_copy(spark: SparkSession, orders: Orders, tmp_path: Path) -> None:
    copies = [
        connect.postgres(url=orders.server.url, table=f"{orders.table}_copy", key="id"),
        connect.sqlite(path=tmp_path / "copy.db", table="copy", key="id"),
    ]
    orders.sql("INSERT INTO {t} (id, name) SELECT i, 'n' || i FROM generate_series(1, 20) i")
    orders.once(*copies)
    orders.sql(
        "UPDATE {t} SET name = 'other' WHERE id % 3 = 0",
        "DELETE FROM {t} WHERE id % 4 = 0",
        "UPDATE {t} SET id = id + 100 WHERE id > 17",
        "INSERT INTO {t} (id, name) VALUES (4, 'again')",
    )
    orders.once(*copies)
    wanted = orders.server.sql(f"SELECT id, name, raw, at FROM {orders.table} ORDER BY id")
    assert orders.server.sql(f"SELECT id, name, raw, at FROM {orders.table}_copy ORDER BY id") == wanted
    assert len(wanted) == 16
    with closing(sqlite3.connect(tmp_path / "copy.db")) as database:
        assert database.execute("SELECT * FROM copy ORDER BY id").fetchall() == wanted


def test_only_what_changes_from_now_on(orders: Orders) -> None:
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    assert orders.taken(snapshot="never") == []
    orders.sql("INSERT INTO {t} (id) VALUES (2)")
    assert orders.taken(snapshot="never") == [("insert", 2, None)]


def test_a_batch_is_the_rows_there_are(
    spark: SparkSession, orders: Orders, context: Callable[..., ReadContext]
) -> None:
    orders.sql("INSERT INTO {t} (id, name) VALUES (1, 'a')")
    [row] = orders.source().reader().batch(spark, context(SCHEMA)).collect()
    assert (row["id"], row["name"], row["change"]["op"]) == (1, "a", "snapshot")


def test_idle_table_does_not_keep_the_log_of_a_busy_server(orders: Orders) -> None:
    assert orders.taken() == []
    orders.sql("CREATE TABLE {t}_busy AS SELECT repeat(i::text, 100) FROM generate_series(1, 10000) i")
    position = "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = %s"
    [[before]] = orders.server.sql(position, (orders.slot,))
    orders.sql("DROP TABLE {t}_busy")
    assert orders.taken() == []
    [[after]] = orders.server.sql(position, (orders.slot,))
    assert after - before > 1_000_000
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    assert orders.taken() == [("insert", 1, None)]


def test_values_that_the_server_does_not_repeat(orders: Orders) -> None:
    large = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i)"
    orders.sql("ALTER TABLE {t} ALTER name SET STORAGE EXTERNAL")
    orders.sql(f"INSERT INTO {{t}} (id, name) VALUES (1, {large})")
    assert [row[:2] for row in orders.taken()] == [("snapshot", 1)]
    orders.sql("UPDATE {t} SET at = now()")
    orders.refused(r"orders: an update of `t\d+` lacks `name`: .*\n  hint: ALTER TABLE t\d+ REPLICA IDENTITY")
    assert orders.taken(schema="id bigint, at timestamp") == [("update", 1, None)]
    orders.sql("ALTER TABLE {t} REPLICA IDENTITY FULL", "UPDATE {t} SET at = NULL")
    [(op, _, name)] = orders.taken()
    assert (op, len(name)) == ("update", 500 * 32)


def test_a_table_that_gets_and_loses_columns(orders: Orders) -> None:
    orders.taken()
    orders.sql("ALTER TABLE {t} ADD note text", "INSERT INTO {t} (id, note) VALUES (1, 'n')")
    assert orders.taken() == [("insert", 1, None)]
    orders.sql("INSERT INTO {t} (id) VALUES (2)", "ALTER TABLE {t} ADD later text")
    orders.refused("had no column `later` when a change was made", schema="id bigint, later string")
    orders.sql("ALTER TABLE {t} DROP name")
    orders.refused(r"the table `t\d+` has no column `name`")


def test_truncated_table_is_an_error(orders: Orders) -> None:
    orders.taken()
    orders.sql("INSERT INTO {t} (id) VALUES (1)", "TRUNCATE {t}", "INSERT INTO {t} (id) VALUES (2)")
    orders.refused("was truncated, and TRUNCATE names no rows\n  hint: truncate=")
    assert orders.taken(truncate="skip") == [("insert", 1, None), ("insert", 2, None)]


@pytest.mark.parametrize("step", ["cdc.recorded", "cdc.created", "cdc.completed"])
def test_incomplete_slot_is_created_again(orders: Orders, step: str) -> None:
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    with failpoints.arm(step), pytest.raises(failpoints.Crash):
        orders.taken()
    orders.sql("INSERT INTO {t} (id) VALUES (2)")
    assert sorted(row[1] for row in orders.taken()) == [1, 2]


@pytest.mark.parametrize("step", ["cdc.confirming", "cdc.confirmed"])
def test_crash_around_a_confirmation_loses_and_repeats_nothing(orders: Orders, step: str) -> None:
    orders.taken()
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    with failpoints.arm(step), pytest.raises(failpoints.Crash):
        orders.taken()
    orders.server.stop()
    orders.server.start()
    orders.sql("INSERT INTO {t} (id) VALUES (2)")
    assert orders.taken() == [("insert", 2, None)]


def test_slot_that_changed_between_runs_is_an_error(orders: Orders) -> None:
    orders.taken()
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    orders.server.sql(
        f"SELECT count(*) FROM pg_logical_slot_get_binary_changes('{orders.slot}', NULL, NULL,"
        f" 'proto_version', '1', 'publication_names', '{orders.slot}')"
    )
    orders.refused(
        "another reader has advanced the replication slot .*\n  hint: give each reader its own slot"
    )
    orders.server.sql(f"SELECT pg_drop_replication_slot('{orders.slot}')")
    orders.refused(
        r"slot `\w+` is missing, and with it the changes.*\n  hint: remove the pipeline's directory"
    )
    orders.server.sql(f"SELECT pg_create_logical_replication_slot('{orders.slot}', 'pgoutput')")
    orders.work, orders.position = orders.work / "fresh", None
    orders.refused(r"exists, but not in this pipeline's directory\n  hint: if no other")


def test_slot_that_the_server_invalidated_is_an_error(orders: Orders) -> None:
    orders.taken()
    orders.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    for _ in range(3):
        orders.sql("INSERT INTO {t} (id) VALUES (1)", "DELETE FROM {t}", "SELECT pg_switch_wal()")

    def wait_for_failure() -> bool:
        orders.sql("CHECKPOINT")  # the server reads its settings again in its own time
        status = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s"
        return orders.server.sql(status, (orders.slot,)) == [("lost",)]

    try:
        wait_until(wait_for_failure)
        orders.refused(
            "the server has invalidated the replication slot .*\n  hint: select pg_drop_replication_slot"
        )
    finally:
        orders.sql("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_missing_requirements_are_errors(orders: Orders) -> None:
    orders.refused(
        r"orders: the table `t\d+` has no column `nome`\n  hint: did you mean `name`", schema="nome string"
    )
    orders.refused("unknown table `nothing` at", table="nothing")
    orders.sql("CREATE PUBLICATION {t}_none")
    without = r"publication `\w+` does not have the table .*\n  hint: ALTER PUBLICATION"
    orders.refused(without, publication=f"{orders.table}_none")
    orders.sql("DROP PUBLICATION {t}_none", "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey")
    orders.refused(
        r"has no primary key, .*\n  hint: give it a primary key, or ALTER TABLE t\d+ REPLICA IDENTITY FULL"
    )
    orders.sql("CREATE ROLE {t}_reader LOGIN PASSWORD 'pw'")
    url = f"postgresql://{orders.table}_reader:pw@127.0.0.1:{orders.server.port}/{DATABASE}"
    orders.refused(
        r'may not read the server\'s log of changes\n  hint: ALTER ROLE "t\d+_reader" REPLICATION', url=url
    )
    orders.sql("DROP ROLE {t}_reader")


def test_unavailable_server_and_refused_login_are_errors(orders: Orders) -> None:
    away = orders.server.url.replace(f":{orders.server.port}/", ":1/")
    orders.refused(
        r"orders: the changes of `t\d+` at 127.0.0.1:1/streams cannot be read: .*\n  hint: is the server",
        url=away,
    )
    wrong = orders.server.url.replace("let%20me%20in", "wrong")
    orders.refused("hint: check user and password", url=wrong)


def test_server_that_becomes_unavailable_is_retried(orders: Orders) -> None:
    orders.taken()
    context = ReadContext(orders.table, "orders", Schema.of(SCHEMA), None, str(orders.work / "source"))
    log = CdcEnumerator(describe_table(orders.source(every="1 millisecond"), context, orders.slot)[0])
    start = orders.position or {}
    assert log.latest(start) == start
    orders.server.stop()
    assert log.latest(start) == start
    orders.server.start()
    orders.sql("INSERT INTO {t} (id) VALUES (1)")
    actual: list[dict[str, int]] = []

    def came() -> bool:
        actual.append(log.latest(start))
        return actual[-1] != start

    wait_until(came)
    end = actual[-1]
    assert [row["id"] for split in log.splits(start, end) for row in _rows(split)] == ["1"]
    log.close()
    orders.server.stop()
    try:
        impatient = CdcEnumerator(
            replace(log._table, options=log._table.options.model_copy(update={"retry_timeout": "0 seconds"}))
        )
        with pytest.raises(RuntimeError, match=r"cannot be read: .*is the server running"):
            impatient.latest(start)
    finally:
        orders.server.start()


def test_server_without_logical_replication_is_an_error(orders: Orders) -> None:
    orders.server.stop()
    orders.server.wal_level = "replica"  # type: ignore[attr-defined]
    orders.server.start()
    try:
        orders.refused(
            r"wal_level = replica.*\n  hint: ALTER SYSTEM SET wal_level = logical, and restart the server"
        )
    finally:
        orders.server.stop()
        orders.server.wal_level = "logical"  # type: ignore[attr-defined]
        orders.server.start()
