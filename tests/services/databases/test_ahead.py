"""Chunks that are taken into a PostgreSQL table while tasks still load others: what was guessed wrongly leaves no trace."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from servers import Server
from sinks import rows

from headrace import connect
from headrace.connectors.base import Connector, WriteContext
from headrace.connectors.sql import chunks
from headrace.connectors.sql.dialect import APART
from headrace.errors import FencedError

MakeRun = Callable[..., WriteContext]


@pytest.fixture
def server(servers: Callable[[str], Server]) -> Server:
    return servers("postgres")


@pytest.fixture
def out(server: Server, table: str) -> Connector:
    return connect.postgres(url=server.url, table=table, key="k")


@pytest.fixture
def writer(out: Connector, run: MakeRun) -> Iterator[Any]:
    writer = out.writer()
    writer.open(run())
    yield writer
    writer.close()


def content(server: Server, table: str) -> dict[str, int]:
    return dict(server.sql(f"SELECT k, v FROM {table}"))  # type: ignore[arg-type]


def loaded(writer: Any, staged: Any, task: int, *values: tuple[str, int], attempt: int | None = None) -> int:
    """What a task does: a chunk of rows, told of in the register; returns its number. Every other task's has a table of its own."""
    number, first = (task + 100 if attempt is None else attempt) << 20 | task % 2 * APART, task << 33
    lines = [f"{first + place}\t{k}\t{v}\n".encode() for place, (k, v) in enumerate(values)]
    keys = b"".join(zlib.crc32(k.encode()).to_bytes(8, "little") for k, _ in values)
    with closing(writer._dialect.connect()) as database:
        database.load(staged.stage, {"k": "string", "v": "int"}, number, lines)
        tell = f'INSERT INTO "{chunks.register(staged.stage)}" VALUES (%s, %s, %s, %s)'
        database.execute(tell, (number, first, len(values), keys))
    return number


def without_rows(writer: Any, spark: SparkSession, epoch: int = 0) -> Any:
    return writer.stage(epoch, rows(spark, ("none", 0)).where("false"))


def test_rows_that_were_taken_early_are_seen_after_the_commit_alone(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    staged = writer.stage(0, rows(spark, ("a", 1), ("b", 2)))
    staged.ahead.look(least=1)
    assert staged.ahead.begun
    assert content(server, table) == {}
    writer.commit(0, staged)
    assert content(server, table) == {"a": 1, "b": 2}


def test_chunk_of_an_attempt_that_failed_is_taken_back(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    staged = writer.stage(0, rows(spark, ("a", 1)))
    loaded(writer, staged, 7, ("ghost", 1))
    staged.ahead.look(least=1)
    assert staged.ahead.begun
    writer.commit(0, staged)
    assert content(server, table) == {"a": 1}


def test_tables_of_chunks_go_with_the_epoch_and_a_task_that_lingers_makes_no_other(
    spark: SparkSession, server: Server, writer: Any
) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE starts_with(tablename, '_headrace_stage')"
    staged = without_rows(writer, spark)
    loaded(writer, staged, 7, ("ghost", 1))
    assert len(server.sql(tables)) == 3  # and those of small chunks, and the register
    writer.commit(0, staged)
    with pytest.raises(psycopg.errors.UndefinedTable):
        loaded(writer, staged, 7, ("ghost", 1), attempt=2)
    assert server.sql(tables) == []


def test_second_attempt_of_a_task_ends_the_guess(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    staged = without_rows(writer, spark)
    loaded(writer, staged, 7, ("a", 1), ("ghost", 1), attempt=1)
    staged.ahead.look(least=1)
    assert staged.ahead.begun
    counted = loaded(writer, staged, 7, ("a", 1), attempt=2)
    staged.ahead.look(least=1)
    assert not staged.ahead.begun
    writer.commit(0, replace(staged, chunks=(counted,), rows=1))
    assert content(server, table) == {"a": 1}


def test_key_that_is_there_already_undoes_what_was_taken_and_the_epoch_is_upserted(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    writer.commit(0, writer.stage(0, rows(spark, ("old", 0))))
    staged = without_rows(writer, spark, 1)
    chunks = [loaded(writer, staged, 0, ("a", 1), ("b", 1))]
    staged.ahead.look(least=1)
    chunks.append(loaded(writer, staged, 1, ("c", 1), ("old", 1)))
    writer.commit(1, replace(staged, chunks=tuple(chunks), rows=4))
    assert content(server, table) == {"a": 1, "b": 1, "c": 1, "old": 1}
    after = without_rows(writer, spark, 2)
    assert after.ahead is None  # the next epoch isn't guessed at
    writer.commit(2, after)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_of_a_key_in_two_chunks_the_last_row_stays_whichever_chunk_comes_first(
    spark: SparkSession, server: Server, table: str, writer: Any, order: tuple[int, ...]
) -> None:
    staged = without_rows(writer, spark)
    given = {0: [("a", 0), ("b", 0)], 1: [("b", 1), ("c", 1), ("c", 2)], 2: [("d", 3), ("c", 3)]}
    chunks = []
    for task in order:
        chunks.append(loaded(writer, staged, task, *given[task]))
        staged.ahead.look(least=1)
    assert staged.ahead.begun
    writer.commit(0, replace(staged, chunks=tuple(chunks), rows=7))
    assert content(server, table) == {"a": 0, "b": 1, "c": 3, "d": 3}


def test_keys_that_come_often_are_upserted_at_the_commit(
    spark: SparkSession, server: Server, table: str, writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_AGAIN", 3)
    staged = writer.stage(0, rows(spark, *[(key, value) for value in range(5) for key in "ab"]).coalesce(1))
    staged.ahead.look(least=1)
    assert not staged.ahead.begun
    writer.commit(0, staged)
    assert content(server, table).keys() == {"a", "b"}


def test_epoch_that_is_staged_again_gives_up_the_open_transaction(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    first = writer.stage(0, rows(spark, ("a", 1), ("ghost", 1)))
    first.ahead.look(least=1)
    second = writer.stage(0, rows(spark, ("a", 1)))
    writer.commit(0, second)
    second = writer.stage(0, rows(spark, ("again", 1)))  # though it is committed
    second.ahead.look(least=1)
    writer.commit(0, second)
    assert content(server, table) == {"a": 1}


def test_newer_run_ends_the_open_transaction_of_an_older_one(
    spark: SparkSession, server: Server, table: str, out: Connector, writer: Any, run: MakeRun
) -> None:
    staged = writer.stage(0, rows(spark, ("a", 1)))
    staged.ahead.look(least=1)
    newer = out.writer()
    newer.open(run())  # doesn't wait for the tables that the older one holds
    newer.commit(0, newer.stage(0, rows(spark, ("a", 2))))
    with pytest.raises(FencedError, match="a newer run has taken over"):
        writer.commit(0, staged)
    newer.close()
    assert content(server, table) == {"a": 2}


def test_two_sinks_with_the_same_keys_do_not_wait_for_each_other(
    spark: SparkSession, server: Server, table: str, out: Connector, writer: Any, run: MakeRun
) -> None:
    other = out.writer()
    other.open(run(sink="other"))
    mine = writer.stage(0, rows(spark, ("a", 1)))
    mine.ahead.look(least=1)
    theirs: Any = other.stage(0, rows(spark, ("a", 2)))
    theirs.ahead.look(least=1)
    assert (mine.ahead.begun, theirs.ahead.begun) == (True, False)
    writer.commit(0, mine)
    other.commit(0, theirs)
    other.close()
    assert content(server, table) == {"a": 2}


def test_many_chunks_beside_the_tasks_that_load_them(
    spark: SparkSession, server: Server, table: str, writer: Any
) -> None:
    frame = spark.range(0, 200_000, numPartitions=2).selectExpr("concat('k', id % 199000) k", "int(id) v")
    writer.commit(0, writer.stage(0, frame))
    [found] = server.sql(f"SELECT count(*), count(DISTINCT k), sum(v) FROM {table}")
    assert found == (199_000, 199_000, sum(range(1_000, 200_000)))
