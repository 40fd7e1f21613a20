"""The files source: every line once, with its position, for any names and ages of files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.errors import SourceError

Drain = Callable[..., list[list[dict[str, Any]]]]
Context = Callable[..., ReadContext]


def lines(epochs: list[list[dict[str, Any]]]) -> list[bytes]:
    return [row["value"] for rows in epochs for row in rows]


def test_new_files_are_read_once_each(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    reader = connect.files(path=directory, format="json").reader()
    (directory / "a.json").write_text('{"v": 1}\n{"v": 2}\n')
    assert lines(drained(reader.stream(spark, context()))) == [b'{"v": 1}', b'{"v": 2}']
    (directory / "b.json").write_bytes(b"\xff\xfe not utf-8")
    assert lines(drained(reader.stream(spark, context()))) == [b"\xff\xfe not utf-8"]
    assert drained(reader.stream(spark, context())) == []


def test_position_is_the_file_and_grows_with_the_lines(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\nthree\n")
    [rows] = drained(connect.files(path=tmp_path / "in", format="text").reader().stream(spark, context()))
    assert {row["partition"].rpartition("/")[2] for row in rows} == {"a.txt"}
    offsets = [row["offset"] for row in rows]
    assert offsets == sorted(set(offsets))
    assert list(rows[0]) == ["value", "partition", "offset"]


def test_first_line_of_every_file_is_at_offset_0(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / f"{name}.csv").write_text("head\nrow\nrow\n")
    epochs = drained(connect.files(path=tmp_path / "in" / "*.csv").reader().stream(spark, context()))
    assert [row["offset"] for rows in epochs for row in rows if row["value"] == b"head"] == [0, 0, 0]


def test_files_of_any_age_are_read(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for name, at in (("new", 1_700_000_000), ("old", 1_000_000_000)):
        (tmp_path / "in" / name).write_text(name)
        os.utime(tmp_path / "in" / name, (at, at))
    reader = connect.files(path=tmp_path / "in", format="text", max_files_per_batch=1).reader()
    assert drained(reader.stream(spark, context()))[0][0]["value"] == b"old"
    assert sorted(lines(drained(reader.stream(spark, context()), "again"))) == [b"new", b"old"]


def test_a_file_a_glob_and_compressed_files_are_read(
    spark: SparkSession, context: Context, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "deep").mkdir()
    with gzip.open(tmp_path / "deep" / "b.txt.gz", "wt") as file:
        file.write("b")

    def read(path: Path) -> list[str]:
        frame = connect.files(path=path, format="text").reader().batch(spark, context())
        return sorted(row.value.decode() for row in frame.collect())

    assert read(tmp_path / "a.txt") == ["a"]
    assert read(tmp_path / "*.txt") == ["a"]
    assert read(tmp_path) == ["a", "b"]


def test_what_the_files_sink_hides_is_not_read(spark: SparkSession, context: Context, tmp_path: Path) -> None:
    (tmp_path / "_headrace").mkdir()
    (tmp_path / "_headrace" / "staged.txt").write_text("hidden")
    assert connect.files(path=tmp_path, format="text").reader().batch(spark, context()).count() == 0


def test_parquet_comes_as_rows_with_their_position(
    spark: SparkSession, context: Context, drained: Drain, tmp_path: Path
) -> None:
    spark.range(3).selectExpr("id", "cast(id as string) as name").coalesce(1).write.parquet(
        str(tmp_path / "in")
    )
    reader = connect.files(path=tmp_path / "in", format="parquet").reader()
    [rows] = drained(reader.stream(spark, context("name string, id bigint")))
    assert [(row["name"], row["id"]) for row in rows] == [("0", 0), ("1", 1), ("2", 2)]
    assert [row["__position"]["offset"] for row in rows] == [0, 1, 2]
    assert {row["__position"]["source"] for row in rows} == {"tx"}
    assert reader.batch(spark, context()).columns == ["id", "name", "__position"]


def test_missing_path_is_reported_before_anything_runs(
    spark: SparkSession, context: Context, tmp_path: Path
) -> None:
    reader = connect.files(path=tmp_path / "no", format="text").reader()
    for read in (reader.stream, reader.batch):
        with pytest.raises(
            SourceError, match=r"tx: no such file or directory: .*/no\n  hint: create the directory"
        ):
            read(spark, context())
