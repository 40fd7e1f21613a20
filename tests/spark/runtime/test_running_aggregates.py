"""Running aggregates with filters after them, distinct values and conditions, in three micro-batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, SourceStream, connect, windows
from headrace.streams.tables import Table

SCHEMA = "k string, v int, ts timestamp"
BATCHES: tuple[list[tuple[str | None, int]], ...] = (
    [("a", 1), ("b", 2)],
    [("a", 3), ("c", 3), (None, 3)],
    [("b", 2), ("d", 9), ("d", 9)],
)


class Bench:
    """A pipeline whose source gets three micro-batches."""

    def __init__(self, directory: Path) -> None:
        self.pipeline = Pipeline("running")
        self.feed = connect.memory()
        self.tx: SourceStream = self.pipeline.read("tx", self.feed, schema=SCHEMA)
        self.checkpoint = directory / "checkpoint"

    def run(self) -> None:
        for i, batch in enumerate(BATCHES):
            self.feed.add(*({"k": k, "v": v, "ts": f"2026-01-01T10:00:0{i}Z"} for k, v in batch))
            self.pipeline.run(until="caught_up", progress=False, checkpoint=self.checkpoint)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def values(sink: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in sink.contents()), key=repr)


ONCE: list[tuple[Any, ...]] = [("c", 1), (None, 1)]
AT_FIRST: list[tuple[Any, ...]] = [("a", 1), ("b", 1), *ONCE]
TWICE: list[tuple[Any, ...]] = [("a", 2), ("b", 2), ("d", 2)]


@pytest.mark.parametrize(
    ("then", "table_rows", "all_rows"),
    [
        (lambda counts: counts.where("n < 2"), ONCE, AT_FIRST),
        (lambda counts: counts.where("n < 2").select("k", "n as m").where("m > 0"), ONCE, AT_FIRST),
        (lambda counts: counts.with_columns(m="n").drop("n").where("m < 2"), ONCE, AT_FIRST),
        (lambda counts: counts.where("n > 1"), TWICE, TWICE),
    ],
    ids=["where", "where and select", "with_columns and drop", "rows that begin to satisfy it"],
)
def test_rows_that_no_longer_satisfy_a_condition_leave_a_sink_with_a_key(
    bench: Bench, then: Callable[[Table], Table], table_rows: list[Any], all_rows: list[Any]
) -> None:
    table, rows = connect.memory(key=["k"]), connect.memory()
    counts = then(bench.tx.key_by("k").aggregate("counts", n="count(*)"))
    counts.write("table", table)
    counts.write("rows", rows)
    bench.run()
    assert values(table) == sorted(table_rows, key=repr)
    assert values(rows) == sorted(all_rows, key=repr)


def test_other_readers_of_a_filtered_aggregate_see_only_its_new_rows(bench: Bench) -> None:
    filtered, whole, mapped, queried = (connect.memory(key=key) for key in (["k"], [], [], []))
    counts = bench.tx.key_by("k").aggregate("counts", n="count(*)")
    counts.where("n < 2").write("filtered", filtered)
    counts.write("whole", whole)
    homes = connect.memory(rows=[{"k": "a", "home": "FI"}])
    counts.lookup("homes", homes, on="k", schema="k string, home string").drop("home").write("mapped", mapped)
    bench.pipeline.sql("queried", "select k, n from counts").write("queried_rows", queried)
    bench.run()
    assert values(filtered) == sorted(ONCE, key=repr)
    expected = sorted([*AT_FIRST, *TWICE], key=repr)
    assert values(whole) == values(mapped) == values(queried) == expected


def test_a_document_filters_a_running_aggregate_into_a_database(bench: Bench, tmp_path: Path) -> None:
    document = """
    sources: {tx: {memory: {name: counted}, schema: "k string, v int"}}
    steps:
      counts: {from: tx, key_by: k, aggregate: {n: count(*)}}
      rare: {from: counts, where: n < 2}
    sinks:
      table: {from: rare, sqlite: {path: "%s", table: rare, key: k}}
    """
    feed = connect.memory(name="counted")
    pipeline = Pipeline.from_yaml_text(document % (tmp_path / "rare.db"), name="rare")
    for batch in (["a", "b"], ["a", "c"], ["b"]):
        feed.add(*({"k": k, "v": 1} for k in batch))
        pipeline.run(until="caught_up", progress=False, checkpoint=bench.checkpoint)
    with sqlite3.connect(tmp_path / "rare.db") as database:
        assert database.execute("select k, n from rare").fetchall() == [("c", 1)]


def test_distinct_values_are_counted_without_a_window(bench: Bench) -> None:
    by_key, of_all = connect.memory(key=["k"]), connect.memory()
    distinct = {"n": "count(distinct v)", "total": "sum(distinct v)", "rows": "count(*)"}
    bench.tx.key_by("k").aggregate("by_key", **distinct).write("by_key_out", by_key)
    bench.tx.aggregate("of_all", vs="sort_array(collect_set(distinct v))").write("of_all_out", of_all)
    bench.run()
    expected = [("a", 2, 4, 2), ("b", 1, 2, 2), ("c", 1, 3, 1), ("d", 1, 9, 2), (None, 1, 3, 1)]
    assert values(by_key) == sorted(expected, key=repr)
    assert of_all.contents()[-1] == {"vs": [1, 2, 3, 9]}


def test_an_aggregate_with_a_condition_counts_the_rows_that_satisfy_it(bench: Bench) -> None:
    running, windowed = connect.memory(key=["k"]), connect.memory()
    bench.tx.key_by("k").aggregate("running", n="count(*) filter (where v > 2)").write("running_out", running)
    timed = bench.tx.event_time("ts").window(windows.tumbling("1 minute"))
    timed.aggregate("windowed", n="count(*) filter (where v > 2)", d="count(distinct v)").write(
        "out", windowed
    )
    bench.run()
    bench.pipeline.run(until="drained", progress=False, checkpoint=bench.checkpoint)
    expected = [("a", 1), ("b", 0), ("c", 1), ("d", 2), (None, 1)]
    assert values(running) == sorted(expected, key=repr)
    assert [(row["n"], row["d"]) for row in windowed.contents()] == [(5, 4)]


def test_a_filter_after_a_running_aggregate_keeps_its_state(bench: Bench) -> None:
    counts = bench.tx.key_by("k").aggregate("counts", n="count(*)")
    counts.write("table", connect.memory(key=["k"]))
    bench.run()
    often = connect.memory(key=["k"])
    counts.where("n > 3").write("often", often)
    bench.run()
    assert values(often) == [("a", 4), ("b", 4), ("d", 4)]
