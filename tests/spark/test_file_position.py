"""The position of a line in a file: its number, or at least a number that rises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def positions(spark: SparkSession, path: Path) -> list[tuple[str, int, str]]:
    from headrace.connectors.files.source import lines

    actual = lines(spark, spark.read, str(path)).collect()
    return [(r["partition"].rsplit("/", 1)[-1], r["offset"], bytes(r["value"]).decode()) for r in actual]


def test_the_offset_is_the_line_number_in_each_file(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(3)))
    wanted = [(f"{name}.txt", i, f"{name}{i}") for name in "ab" for i in range(3)]
    assert sorted(positions(spark, tmp_path)) == wanted


def test_in_a_file_that_is_split_the_offset_still_rises_line_by_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{i}\n" for i in range(1000)))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "500")
    try:
        got = sorted(positions(spark, tmp_path), key=lambda p: p[1])
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert [int(value) for _, _, value in got] == list(range(1000))
    assert len({offset for _, offset, _ in got}) == 1000
    assert got[-1][1] > 1000
