"""Lines that tasks load into a database, sorted by key in runs."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.sql.sink import _packed

Run = list[list[str]]
"""The values of each line, without the row's number."""


def runs(frame: DataFrame, *key: int) -> list[Run]:
    """The lines of one task, which must be numbered as they come and have a hash each: a new run begins where keys fall."""
    values = _packed(frame, list(key)).collect()
    lines = [line.split("\t") for value in values for line in value.lines.decode().splitlines()]
    assert [int(line[0]) for line in lines] == list(range(len(lines)))
    assert sum(len(value.keys) for value in values) == 8 * len(lines)
    found: list[Run] = [[]]
    for _, *line in lines:
        if found[-1] and _order(line, frame, key) < _order(found[-1][-1], frame, key):
            found.append([])
        found[-1].append(line)
    return found


def _order(line: list[str], frame: DataFrame, key: tuple[int, ...]) -> list[Any]:
    texts = [frame.schema[place].dataType.typeName() == "string" for place in key]
    return [
        line[place].encode() if text else int(line[place]) for place, text in zip(key, texts, strict=True)
    ]


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
    assert sorted(line[0] for line in run) == sorted(map(str, keys))


def test_rows_of_a_key_stay_as_they_came(spark: SparkSession) -> None:
    rows = [("b", 2, 0), ("a", -7, 1), ("b", 1, 2), ("a", 1, 3), ("b", 2, 4), ("a", -7, 5), ("b", -5, 6)]
    frame = keyed(spark, *rows, schema="k string, n int, came int")
    assert [line[2] for line in runs(frame, 0)[0]] == ["1", "3", "5", "0", "2", "4", "6"]
    assert [line[2] for line in runs(frame, 0, 1)[0]] == ["1", "5", "3", "6", "2", "0", "4"]
    assert [line[2] for line in runs(frame, 1, 0)[0]] == ["1", "5", "6", "3", "2", "0", "4"]


def test_many_rows_with_a_first_column_alike_are_told_apart_by_the_next(spark: SparkSession) -> None:
    where = "element_at(array('northern islands', 'south', 'somewhere in the west'), int(id % 3) + 1)"
    columns = f"{where} AS place", "(id * 7919) % 3000 - 1500 AS n"
    frame = spark.range(0, 3000, numPartitions=1).selectExpr(*columns, "xxhash64(id)")
    assert [len(run) for run in runs(frame, 0, 1)] == [3000]


def test_hashes_are_in_the_order_of_lines_and_a_null_adds_none(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("b", 2), (None, None), ("a", 1)], "k string, hash bigint").coalesce(1)
    values = _packed(frame, [0]).collect()
    assert b"".join(value.lines for value in values) == b"0\t\\N\n1\ta\n2\tb\n"
    assert b"".join(value.keys for value in values) == (1).to_bytes(8, "little") + (2).to_bytes(8, "little")


def test_runs_grow_up_to_a_limit(spark: SparkSession) -> None:
    rows = 1_500_000
    numbers = spark.range(0, rows, numPartitions=1).selectExpr(
        "(id * 7919) % 1500000 - 700000 AS k", "xxhash64(id)"
    )
    first, second, third, *_, last = [len(run) for run in runs(numbers, 0)]
    assert first * 1.9 < second < first * 2.1
    assert second * 1.9 < third < second * 2.1
    assert last < third


def test_row_larger_than_a_run_is_the_last_of_its_run(spark: SparkSession) -> None:
    text = "repeat('x', if(id = 2, 9000000, 1))"
    frame = spark.range(0, 5, numPartitions=1).selectExpr("-id AS k", f"{text} AS v", "xxhash64(id)")
    assert [[line[0] for line in run] for run in runs(frame, 0)] == [["-2", "-1", "0"], ["-4", "-3"]]


def test_hashes_that_came_before_are_given_back(spark: SparkSession) -> None:
    hashes = spark._jvm.org.apache.spark.sql.headrace.copytext.KeyHashes()  # type: ignore[union-attr]

    def repeated(*numbers: int) -> list[int]:
        given = b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)
        return list(memoryview(hashes.repeated(given)).cast("q"))

    assert repeated(0, 1, -1, 1 + 2**40, 5) == []
    assert repeated(*range(10, 100_000), 7, 7) == [7]
    assert repeated(3, 0, -1, 5, 99_999, 100_000, 1 + 2**40) == [0, -1, 5, 99_999, 1 + 2**40]
