"""Lines that tasks load into a database, sorted by key in runs: by what tells keys apart, each run in a batch of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.database.lines import content
from headrace.connectors.database.sink import _packed

Run = list[list[str]]
"""The values of each line, the row's number first."""


def runs(frame: DataFrame, *key: int) -> list[Run]:
    """What a task's Python is given: the runs, without the hashes, which must be one for each row."""

    def each(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            lines, hashes = [content(batch)], [content(batch, 1)]
            yield pyarrow.record_batch({"lines": lines, "hashes": hashes})

    packed = _packed(frame, list(key))
    found = []
    for row in packed.mapInArrow(each, "lines binary, hashes binary").collect():
        run = [line.split("\t") for line in bytes(row.lines).decode().splitlines()]
        assert len(row.hashes) == 8 * len(run)
        found.append(run)
    return found


def keyed(spark: SparkSession, *rows: tuple[Any, ...], schema: str) -> DataFrame:
    """Rows of one task; the last column is a hash of all others."""
    frame = spark.createDataFrame(list(rows), schema).coalesce(1)
    return frame.selectExpr("*", "xxhash64(*)")


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a", "", "ab", "é", "a" * 300],
        [f"https://example.com/a/rather/long/beginning/of/all/{n:05d}" for n in (3, 20000, 1, 10003)],
        [5, -1, 0, 2**63 - 1, -(2**63), 300, -300, -256, -257, 255, 256, 2**55],
    ],
    ids=["texts", "long beginning", "numbers"],
)
def test_keys_come_in_their_order(spark: SparkSession, keys: list[Any]) -> None:
    kind = "string" if isinstance(keys[0], str) else "bigint"
    frame = keyed(spark, *[(key, "x") for key in keys], schema=f"k {kind}, v string")
    [run] = runs(frame, 0)
    assert [line[1] for line in run] == [str(key) for key in sorted(keys)]
    assert [keys[int(line[0])] for line in run] == sorted(keys)  # numbered as they came


def test_rows_of_a_key_stay_as_they_came(spark: SparkSession) -> None:
    rows = [("b", 2), ("a", -7), ("b", 1), ("a", 1), ("b", 2), ("a", -7), ("b", -5)]
    frame = keyed(spark, *rows, schema="k string, n int")
    assert [line[0] for line in runs(frame, 0)[0]] == ["1", "3", "5", "0", "2", "4", "6"]
    assert [line[0] for line in runs(frame, 0, 1)[0]] == ["1", "5", "3", "6", "2", "0", "4"]
    assert [line[0] for line in runs(frame, 1, 0)[0]] == ["1", "5", "6", "3", "2", "0", "4"]


def test_many_rows_with_a_first_column_alike_are_told_apart_by_the_next(spark: SparkSession) -> None:
    where = "element_at(array('northern islands', 'south', 'somewhere in the west'), int(id % 3) + 1)"
    columns = f"{where} AS place", "(id * 7919) % 3000 - 1500 AS n"
    frame = spark.range(0, 3000, numPartitions=1).selectExpr(*columns, "xxhash64(id)")
    keys = [(line[1], int(line[2])) for line in runs(frame, 0, 1)[0]]
    assert keys == sorted(keys)


def test_hashes_are_in_the_order_of_numbers_and_a_null_adds_none(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("b", 2), (None, None), ("a", 1)], "k string, hash bigint").coalesce(1)
    values = _packed(frame, [0]).collect()
    assert b"".join(value.lines for value in values) == b"1\t\\N\n2\ta\n0\tb\n"
    assert b"".join(value.keys for value in values) == (2).to_bytes(8, "little") + (1).to_bytes(8, "little")


def test_runs_grow_and_each_is_sorted(spark: SparkSession) -> None:
    rows = 200_000
    numbers = spark.range(0, rows, numPartitions=1).selectExpr("(id * 7919) % 200000 AS k", "xxhash64(id)")
    found = runs(numbers, 0)
    assert [len(run) for run in found[:-1]] == sorted(len(run) for run in found[:-1])
    assert len(found) > 2
    first = 0
    for run in found:
        keys = [int(line[1]) for line in run]
        assert keys == sorted(keys)
        assert {int(line[0]) for line in run} == set(range(first, first + len(run)))
        first += len(run)
    assert first == rows


def test_row_larger_than_a_run_is_the_last_of_its_run(spark: SparkSession) -> None:
    text = "repeat('x', if(id = 2, 9000000, 1))"
    frame = spark.range(0, 5, numPartitions=1).selectExpr("-id AS k", f"{text} AS v", "xxhash64(id)")
    assert [[line[:2] for line in run] for run in runs(frame, 0)] == [
        [["2", "-2"], ["1", "-1"], ["0", "0"]],
        [["4", "-4"], ["3", "-3"]],
    ]


def test_every_row_is_there_once_whatever_a_batch_holds(spark: SparkSession) -> None:
    option = "spark.sql.execution.arrow.maxRecordsPerBatch"
    frame = spark.range(0, 60_000, numPartitions=1).selectExpr("id % 1000 AS k", "xxhash64(id)")
    before = spark.conf.get(option)
    try:
        for most in ("-1", "7"):
            spark.conf.set(option, most)
            numbers = [int(line[0]) for line in chain(*runs(frame, 0))]
            assert sorted(numbers) == list(range(60_000))
    finally:
        spark.conf.set(option, before)
