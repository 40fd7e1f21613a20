"""The Delta source: the rows of a snapshot, then the rows that each version adds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext
from headrace.connectors.retry import find_problem
from headrace.errors import Problem, SourceError
from headrace.testing import delivery

MakeContext = Callable[..., ReadContext]
Drain = Callable[..., list[list[dict[str, Any]]]]


def add(path: Path, *ids: int, **columns: Any) -> None:
    """Append a version with these ids."""
    rows = pyarrow.table({"id": list(ids), **columns})
    write_deltalake(path, rows, mode="append", schema_mode="merge")


@pytest.fixture
def read(spark: SparkSession, context: MakeContext, drained: Drain, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that reads a table to its end, from the checkpoint on: the ids of each epoch."""

    def read_ids(schema: str = "id bigint", **options: Any) -> list[list[int]]:
        reader = connect.delta(path=tmp_path / "table", **options).reader()
        try:
            epochs = drained(reader.stream(spark, context(schema)))
        finally:
            reader.close()
        return [sorted(row["id"] for row in rows) for rows in epochs]

    return read_ids


def fail_reading(read: Callable[..., Any], **options: Any) -> Problem:
    with pytest.raises(StreamingQueryException) as error:
        read(**options)
    problem = find_problem(str(error.value))
    assert problem is not None
    assert problem.where == "tx"
    return problem


def test_snapshot_is_read_first_and_then_each_version(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1, 2)
    add(path, 3)
    assert read() == [[1, 2, 3]]
    assert read() == []
    add(path, 4)
    add(path, 5)
    assert read() == [[4, 5]]


def test_start_at_a_version(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    for number in range(3):
        add(path, number)
    assert read(start={"version": 1}, max_files_per_batch=2) == [[0, 1], [2]]


def test_start_at_a_time(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    for number in range(3):
        add(path, number)
    history = DeltaTable(path).history()
    second = datetime.fromtimestamp(history[1]["timestamp"] / 1000, UTC)
    assert read(start={"time": second}, max_files_per_batch=2) == [[0, 1], [2]]


def test_start_with_later_rows(read: Callable[..., Any], tmp_path: Path) -> None:
    add(tmp_path / "table", 1)
    assert read(start="latest") == []
    add(tmp_path / "table", 2)
    assert read(start="latest") == [[2]]


def test_max_files_per_batch_divides_a_snapshot(read: Callable[..., Any], tmp_path: Path) -> None:
    for number in range(5):
        add(tmp_path / "table", number)
    epochs = read(max_files_per_batch=2)
    assert [len(ids) for ids in epochs] == [2, 2, 1]
    assert sorted(number for ids in epochs for number in ids) == [0, 1, 2, 3, 4]


def test_compaction_adds_no_rows(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1)
    assert read() == [[1]]
    add(path, 2)
    DeltaTable(path).optimize.compact()
    add(path, 3)
    assert read() == [[2, 3]]


def test_deleted_rows_are_an_error(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1, 2)
    assert read() == [[1, 2]]
    DeltaTable(path).delete("id = 1")
    problem = fail_reading(read)
    assert problem.what == "version 1 of the table changes or deletes rows (DELETE)"
    assert 'on_change="skip"' in problem.hint


def test_changes_are_skipped_on_request(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1, 2)
    assert read(on_change="skip") == [[1, 2]]
    DeltaTable(path).update({"id": "7"}, predicate="id = 1")
    add(path, 3)
    assert read(on_change="skip") == [[3]]


def test_types_partitions_and_columns_of_older_files(
    spark: SparkSession, context: MakeContext, drained: Drain, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    day, at = date(2026, 11, 1), datetime(2026, 11, 1, 10, 0, 0, 1, UTC)
    first = {"id": [1], "day": [day], "place": ["a/b c%41"], "at": [at], "tags": [["x"]]}
    second = {"id": [2], "day": [None], "place": [None], "at": [at], "tags": [None], "n": [1.5]}
    kinds = {"at": pyarrow.timestamp("us", "UTC"), "day": pyarrow.date32(), "place": pyarrow.string()}
    for columns in (first, second):
        arrays = {name: pyarrow.array(values, kinds.get(name)) for name, values in columns.items()}
        arrays["tags"] = arrays["tags"].cast(pyarrow.list_(pyarrow.string()))
        table = pyarrow.table(arrays)
        write_deltalake(path, table, mode="append", schema_mode="merge", partition_by=["day", "place"])
    reader = connect.delta(path=path).reader()
    schema = "place string, id string, day date, at timestamp, tags array<string>, n double"
    frame = reader.stream(spark, context(schema))
    [rows] = drained(frame.drop("__position"))
    reader.close()
    expected = [
        {"place": "a/b c%41", "id": "1", "day": day, "at": at, "tags": ["x"], "n": None},
        {"place": None, "id": "2", "day": None, "at": at, "tags": None, "n": 1.5},
    ]
    assert sorted(rows, key=lambda row: row["id"]) == expected
    batch = connect.delta(path=path).reader().batch(spark, context())
    assert dict(batch.dtypes)["day"] == "date"
    assert batch.count() == 2


def test_position_is_file_and_row(
    spark: SparkSession, context: MakeContext, drained: Drain, tmp_path: Path
) -> None:
    add(tmp_path / "table", 5, 6)
    reader = connect.delta(path=tmp_path / "table").reader()
    [rows] = drained(reader.stream(spark, context("id bigint")))
    reader.close()
    assert [row["__position"]["offset"] for row in rows] == [0, 1]
    assert rows[0]["__position"]["partition"].endswith(".parquet")


def test_crash_harness_finds_no_lost_or_duplicated_row(spark: SparkSession, tmp_path: Path) -> None:
    def feed(trial: str) -> delivery.Feed:
        path = tmp_path / trial.replace(" ", "-")
        DeltaTable.create(path, pyarrow.schema([("id", pyarrow.int64())]))
        return delivery.Feed(connect.delta(path=path), lambda ids: add(path, *ids))

    report = delivery.check_source(feed)
    assert report.passed, str(report)


def test_lookup_reads_the_newest_version(spark: SparkSession, tmp_path: Path) -> None:
    table, box = tmp_path / "table", connect.memory()
    add(table, 1, name=["one"])
    add(table, 2, name=["two"])
    pipeline = Pipeline("names")
    numbers = pipeline.read("numbers", connect.memory(rows=[{"id": 2}, {"id": 3}]), schema="id bigint")
    numbers.lookup("name", connect.delta(path=table), on="id").write("out", box)
    pipeline.run(until="drained", checkpoint=tmp_path / "checkpoint")
    assert sorted((row["id"], row["name"]) for row in box.contents()) == [(2, "two"), (3, None)]
    version = connect.delta(path=table).content_version()
    add(table, 3, name=["three"])
    assert connect.delta(path=table).content_version() != version


def test_missing_table_is_an_error(spark: SparkSession, context: MakeContext, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read") as error:
        connect.delta(path=tmp_path / "table").reader().stream(spark, context("id bigint"))
    assert error.value.where == "tx"
    assert error.value.hint == "create the table, or check the path"


def test_unknown_column_is_an_error(spark: SparkSession, context: MakeContext, tmp_path: Path) -> None:
    add(tmp_path / "table", 1)
    with pytest.raises(SourceError, match="has no column `idd`") as error:
        connect.delta(path=tmp_path / "table").reader().stream(spark, context("idd bigint"))
    assert "did you mean `id`" in error.value.hint.lower()


def test_version_that_is_no_longer_in_the_log_is_an_error(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1)
    assert read() == [[1]]
    add(path, 2)
    add(path, 3)
    DeltaTable(path).create_checkpoint()
    (path / "_delta_log" / f"{1:020d}.json").unlink()
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    problem = fail_reading(read)
    assert problem.what == "version 1 is no longer in the log of the table"
    assert "--fresh" in problem.hint


def test_file_that_vacuum_has_removed_is_an_error(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "table"
    add(path, 1)
    for file in path.glob("*.parquet"):
        file.unlink()
    problem = fail_reading(read)
    assert "not found" in problem.what
    assert "VACUUM" in problem.hint


def test_batch_of_later_rows_is_an_error(spark: SparkSession, context: MakeContext, tmp_path: Path) -> None:
    add(tmp_path / "table", 1)
    with pytest.raises(SourceError, match="a batch that starts with later rows is empty"):
        connect.delta(path=tmp_path / "table", start="latest").reader().batch(spark, context("id bigint"))
