"""The memory connector: rows from Python into a stream, and delivered rows back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.support.sinks import deliver, rows

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext, WriteContext
from headrace.errors import DeliveryError, FencedError, SourceError

Drain = Callable[..., list[list[dict[str, Any]]]]


def test_first_rows_and_added_rows_come_through_the_stream(
    spark: SparkSession, context: Callable[..., ReadContext], drained: Drain
) -> None:
    feed = connect.memory(rows=[{"k": "a", "v": 1}])
    frame = feed.reader().stream(spark, context("k string, v int"))
    feed.add({"k": "b", "v": 2}, {"k": "c"})
    received = [row for rows in drained(frame) for row in rows]
    assert [row.pop("__position")["offset"] for row in received] == [0, 1, 2]
    assert received == [
        {"k": "a", "v": 1},
        {"k": "b", "v": 2},
        {"k": "c", "v": None},
    ]


def test_timestamps_are_text_seconds_or_datetimes(
    spark: SparkSession, context: Callable[..., ReadContext]
) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    feed = connect.memory(
        rows=[
            {"ts": "2026-01-01T00:00:00Z"},
            {"ts": at},
            {"ts": int(at.timestamp())},
            {"ts": at.replace(tzinfo=None)},
        ]
    )
    table = feed.reader().batch(spark, context("ts timestamp")).toArrow()
    assert [row["ts"] for row in table.to_pylist()] == [at] * 4


def test_restarted_query_goes_on_where_it_was(
    spark: SparkSession, context: Callable[..., ReadContext], drained: Drain
) -> None:
    feed = connect.memory(rows=[{"v": 1}])
    first = feed.reader()
    assert drained(first.stream(spark, context("v int")).select("v")) == [[{"v": 1}]]
    first.close()
    feed.add({"v": 2})
    assert drained(feed.reader().stream(spark, context("v int")).select("v")) == [[{"v": 2}]]


def test_two_queries_each_get_all_rows(
    spark: SparkSession, context: Callable[..., ReadContext], drained: Drain
) -> None:
    feed = connect.memory(rows=[{"v": 1}])
    reader = feed.reader()
    for query in ("one", "two"):
        assert drained(reader.stream(spark, context("v int")).select("v"), query) == [[{"v": 1}]]


def test_row_with_an_unknown_column_is_refused(
    spark: SparkSession, context: Callable[..., ReadContext]
) -> None:
    with pytest.raises(SourceError, match=r"tx: row 0: unknown column `w`\n  hint: the schema is `v int`"):
        connect.memory(rows=[{"w": 1}]).reader().batch(spark, context("v int"))


def test_source_without_a_schema_states_how_to_give_one(
    spark: SparkSession, context: Callable[..., ReadContext]
) -> None:
    with pytest.raises(SourceError, match="rows from memory need a schema"):
        connect.memory().reader().stream(spark, context())


def test_repeated_epoch_is_kept_once(spark: SparkSession, run: Callable[..., WriteContext]) -> None:
    out = connect.memory()
    for epoch in (0, 1, 1):
        deliver(out, run(), epoch, rows(spark, ("a", epoch)))
    assert out.contents() == [{"k": "a", "v": 0}, {"k": "a", "v": 1}]


def test_complete_mode_replaces_the_rows(spark: SparkSession, run: Callable[..., WriteContext]) -> None:
    out = connect.memory()
    deliver(out, run("complete"), 0, rows(spark, ("a", 1)))
    deliver(out, run("complete"), 1, rows(spark, ("a", 2)))
    assert out.contents() == [{"k": "a", "v": 2}]


def test_row_that_does_not_fit_the_schema_is_an_error_with_row_and_column(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    feed = connect.memory(rows=[{"card": "a", "amount": 1.5}, {"card": "b", "amount": "many"}])
    pipeline.read("tx", feed, schema="card string, amount double").write("out", connect.memory())
    with pytest.raises(SourceError) as caught:
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert str(caught.value) == (
        "tx: row 1: column `amount`: expected double, got str 'many'\n  hint: rows are counted from 0"
    )


def test_keyed_sink_holds_the_newest_row_of_each_key(
    spark: SparkSession, run: Callable[..., WriteContext]
) -> None:
    out = connect.memory(key="k")
    deliver(out, run("update"), 0, rows(spark, ("a", 1), ("b", 1)))
    deliver(out, run("update"), 1, rows(spark, ("a", 2), ("c", 1)))
    assert out.contents() == [{"k": "a", "v": 2}, {"k": "b", "v": 1}, {"k": "c", "v": 1}]


def test_retraction_removes_the_row_of_its_key(spark: SparkSession, run: Callable[..., WriteContext]) -> None:
    def panes(*rows: tuple[str, bool]) -> DataFrame:
        return spark.createDataFrame(
            [(k, {"index": 0, "timing": "late", "retraction": gone}) for k, gone in rows],
            "k string, pane struct<index int, timing string, retraction boolean>",
        )

    out = connect.memory(key="k")
    deliver(out, run(), 0, panes(("a", False), ("b", False)))
    deliver(out, run(), 1, panes(("a", True), ("b", True), ("b", False)))
    assert [row["k"] for row in out.contents()] == ["b"]


def test_unknown_key_column_is_an_error(spark: SparkSession, run: Callable[..., WriteContext]) -> None:
    with pytest.raises(DeliveryError, match=r"out: unknown key column `kk`\n  hint: did you mean `k`"):
        deliver(connect.memory(key="kk"), run(), 0, rows(spark, ("a", 1)))


def test_older_run_is_fenced(spark: SparkSession, run: Callable[..., WriteContext]) -> None:
    out = connect.memory()
    old, new = out.writer(), out.writer()
    old.open(run())
    staged = old.stage(0, rows(spark, ("a", 1)))
    new.open(run())
    with pytest.raises(FencedError, match="out: epoch 0 is not written: a newer run has taken over"):
        old.commit(0, staged)
    assert out.contents() == []


def test_with_a_format_rows_are_records_and_go_through_the_decoder(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, out, broken = (
        connect.memory(rows=[{"value": '{"a": 1}'}, {"value": b"no"}]),
        connect.memory(),
        connect.memory(),
    )
    pipeline = Pipeline("records")
    tx = pipeline.read("tx", feed, format="json", schema="a int")
    tx.write("out", out)
    tx.dead_letters.write("broken", broken)
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert out.contents() == [{"a": 1}]
    assert [(row["raw"], row["position"]) for row in broken.contents()] == [(b"no", 1)]


def test_with_a_format_a_row_with_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("records")
    pipeline.read("tx", connect.memory(rows=[{"a": 1}]), format="json", schema="a int").write(
        "out", connect.memory()
    )
    with pytest.raises(SourceError, match="because the source has a format, got"):
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
