"""Dead letters: policies, what is taken in each epoch, limits, and that a record is decoded exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace import formats
from headrace.errors import DecodeError
from headrace.formats import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

GOOD, BAD = bytearray(b'{"a": 1}'), bytearray(b'{"a": "x"}')
RECORD = "value binary, partition string, offset bigint"


def decoding(
    spark: SparkSession, frame: DataFrame, on_error: Any = "divert", **more: Any
) -> tuple[DataFrame, Any]:
    from headrace.lowering.decode import decode_records

    return decode_records(
        spark, frame, format=formats.Json(), schema=Schema.of("a int"), on_error=on_error, source="tx", **more
    )


@pytest.fixture
def mixed(spark: SparkSession) -> DataFrame:
    """Two bad records among four, at the positions 1 and 3 of two partitions each."""
    rows = [([GOOD, BAD][i % 2], part, i) for part in ("p", "q") for i in range(4)]
    return spark.createDataFrame(rows, RECORD).repartition(2)


def test_divert_gives_each_dead_letter_once_and_starts_again(spark: SparkSession, mixed: DataFrame) -> None:
    rows, dead_letters = decoding(spark, mixed)
    assert rows.count() == 4
    assert dead_letters.count == 4
    taken = dead_letters.take()
    columns = "raw binary, reason string, field string, source string, partition string, position bigint"
    assert Schema.of(taken.schema) == Schema.of(f"{columns}, read_at timestamp")
    assert sorted((r["partition"], r["position"]) for r in taken.collect()) == [
        ("p", 1),
        ("p", 3),
        ("q", 1),
        ("q", 3),
    ]
    assert dead_letters.count == 0
    assert dead_letters.take().collect() == []


def test_a_frame_that_is_read_twice_in_an_epoch_collects_each_dead_letter_once(
    spark: SparkSession, mixed: DataFrame
) -> None:
    rows, dead_letters = decoding(spark, mixed)
    rows.count()
    rows.collect()
    assert dead_letters.count == 4
    assert dead_letters.take().count() == 4


def test_reset_forgets_what_a_failed_epoch_left(spark: SparkSession, mixed: DataFrame) -> None:
    rows, dead_letters = decoding(spark, mixed)
    rows.count()
    dead_letters.reset()
    assert dead_letters.take().collect() == []


def test_skip_only_counts_however_many_there_are(spark: SparkSession, mixed: DataFrame) -> None:
    rows, dead_letters = decoding(spark, mixed, "skip", dead_letter_bytes=200)
    assert rows.count() == 4
    assert dead_letters.count == 4
    assert dead_letters.take().collect() == []
    assert dead_letters.count == 0


def test_fail_ends_the_job_with_an_error_that_reports_the_place(
    spark: SparkSession, mixed: DataFrame
) -> None:
    from headrace.lowering.decode import as_source_error

    rows, _ = decoding(spark, mixed.where("partition = 'p' and offset < 2"), "fail")
    with pytest.raises(Exception, match="DecodeFailure") as caught:
        rows.collect()
    error = as_source_error(caught.value)
    assert isinstance(error, DecodeError)
    assert str(error) == (
        'source `tx`, partition p, position 1: field `a`: expected int, got string "x" at byte 6\n'
        '  hint: on_error="divert" sends such records to the source\'s `dead_letters` and continues'
    )
    assert as_source_error(ValueError("something else")) is None


@pytest.mark.parametrize("tasks", [1, 4])
def test_dead_letters_above_the_limit_are_spilled_to_files(
    spark: SparkSession, tmp_path: Path, tasks: int
) -> None:
    frame = spark.createDataFrame([(BAD, "p", i) for i in range(50)], RECORD).repartition(tasks)
    rows, dead_letters = decoding(spark, frame, dead_letter_bytes=1_500, spill_directory=tmp_path / "spill")
    rows.collect()
    rows.collect()  # a stage that runs twice adds each dead letter twice
    assert list((tmp_path / "spill").glob("*.json"))
    assert dead_letters.count == 50
    taken = dead_letters.take().collect()
    assert sorted(row["position"] for row in taken) == list(range(50))
    first = next(row for row in taken if row["position"] == 0)
    assert (bytes(first["raw"]), first["field"], first["source"]) == (bytes(BAD), "a", "tx")
    assert first["read_at"].year >= 2026
    dead_letters.reset()
    assert not (tmp_path / "spill").exists()
    assert dead_letters.take().collect() == []


def test_a_record_is_decoded_once_however_its_columns_are_used(spark: SparkSession) -> None:
    # without a position two dead letters are equal, so each evaluation would count
    frame = spark.createDataFrame([(BAD, None, None), (GOOD, None, None)], RECORD).repartition(1)
    rows, dead_letters = decoding(spark, frame)
    query = rows.where("a > 0").selectExpr("a", "a + 1 b", "a * 2 c").where("b < 100 and c > 1")
    assert [tuple(row) for row in query.collect()] == [(1, 2, 2)]
    assert dead_letters.count == 1


def test_decoding_stays_in_generated_code_and_unused_columns_are_pruned(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    frame = spark.range(1).select(
        f.lit(GOOD).alias("value"),
        f.lit("p").alias("partition"),
        f.col("id").alias("offset"),
        f.rand().alias("more"),
    )
    rows, _ = decoding(spark, frame)
    plan = rows.select("a")._jdf.queryExecution().executedPlan().toString()
    assert "*(1) Project [decode_json(" in plan
    assert "__position" not in plan
    assert "more" not in plan


def test_dead_letters_of_a_stream_are_complete_at_the_end_of_each_epoch(
    spark: SparkSession, tmp_path: Path
) -> None:
    from headrace.connectors.files.source import lines
    from headrace.lowering.decode import decode_records

    (tmp_path / "in").mkdir()
    frame = lines(spark, spark.readStream, str(tmp_path / "in"))
    rows, dead_letters = decode_records(
        spark, frame, format=formats.Json(), schema=Schema.of("a int"), on_error="divert", source="tx"
    )
    epochs = []

    def deliver(batch: DataFrame, _: int) -> None:
        batch.persist()
        got = sorted(row["a"] for row in batch.collect())
        epochs.append((got, [(r["raw"], r["position"]) for r in dead_letters.take().collect()]))
        batch.unpersist()

    def run() -> None:
        writer = rows.writeStream.foreachBatch(deliver).option("checkpointLocation", str(tmp_path / "state"))
        writer.trigger(availableNow=True).start().awaitTermination()

    (tmp_path / "in" / "one.json").write_text('{"a": 1}\n{"a": "x"}\n{"a": 2}\nbad\n')
    run()
    (tmp_path / "in" / "two.json").write_text('{"a": 3}\n')
    run()
    assert epochs == [([1, 2], [(b'{"a": "x"}', 1), (b"bad", 3)]), ([3], [])]
