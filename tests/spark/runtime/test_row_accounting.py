"""Row accounting of queries, over restarts, crashes and recomputed batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headrace import Pipeline, connect, patterns, triggers, windows
from headrace.checkpoints.journal import read_lines
from headrace.connectors.failpoints import Crash, arm
from headrace.debugging.state import state_of
from headrace.errors import HeadraceError
from headrace.lowering.counts import Counts
from headrace.triggers import Emission
from headrace.windows.lower import aggregate_windows


def row(key: str, second: int) -> dict[str, Any]:
    return {"k": key, "v": 1, "ts": f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z"}


def test_rows_add_up_over_runs_and_after_a_crash(spark: SparkSession, tmp_path: Path) -> None:
    feed, out, late = connect.memory(), connect.memory(), connect.memory()
    pipeline = Pipeline("balanced")
    rows = pipeline.read("rows", feed, schema="k string, v int, ts timestamp").event_time("ts")
    sliding = rows.key_by("k").window(windows.sliding("20 seconds", every="10 seconds"))
    sums = sliding.aggregate("sums", total="sum(v)")
    sums.write("out", out)
    sums.late.write("late", late)

    def run(**how: Any) -> Any:
        with pipeline.start(checkpoint=tmp_path / "checkpoint", **how) as running:
            running.wait(timeout=300)
            return running.status()

    feed.add(row("a", 5), row("b", 15), row("a", 65))
    first = run(until="caught_up")
    assert (
        str(first.steps["sums"])
        == "3 rows = 3 processed, in windows 6 assignments = 4 emitted + 2 in open windows"
    )
    assert (first.in_open_windows, first.late, first.dropped) == (2, 0, 0)

    feed.add(row("a", 6), row("b", 70))
    with arm("delivery.committed"), pytest.raises((Crash, HeadraceError)):
        run(until="caught_up")
    second = run(until="caught_up")
    assert (
        str(second.steps["sums"])
        == "2 rows = 1 processed + 1 late, in windows 2 assignments + 2 held before = 1 emitted + 3 in open "
        "windows"
    )
    assert second.late == len(late.contents()) == 1
    [held] = state_of(pipeline._plan(), tmp_path / "checkpoint", step="sums")
    assert (
        sum(window["rows"] for entry in held.stored.entries for window in entry["windows"])
        == second.in_open_windows
    )

    last = run(until="drained")
    assert str(last.steps["sums"]) == "0 rows + 3 held before = 3 emitted"
    assert all(step.balanced for status in (first, second, last) for step in status.steps.values())
    log = list(read_lines(tmp_path / "checkpoint" / "queries" / "sums" / "row_accounting.jsonl"))
    assert log[-1]["sum"]["rows"] == 5
    assert log[-1]["sum"]["late"] == 1


def test_drain_closes_windows_with_a_processing_time_trigger(spark: SparkSession, tmp_path: Path) -> None:
    feed, out = connect.memory(rows=[row("a", 5), row("a", 6), row("b", 15)]), connect.memory()
    pipeline = Pipeline("drained")
    rows = pipeline.read("rows", feed, schema="k string, v int, ts timestamp").event_time("ts")
    minutes = rows.key_by("k").window(windows.tumbling("1 minute"))
    early = minutes.emit(early=triggers.every("3 seconds"), mode="retracting")
    early.aggregate("sums", total="sum(v)").write("out", out)
    with pipeline.start(checkpoint=tmp_path / "checkpoint", until="drained") as running:
        running.wait(timeout=300)
        accounting = running.status().steps["sums"]
    assert str(accounting) == "3 rows = 3 emitted"
    assert accounting.open_windows == 0
    last = {pane["k"]: pane for pane in out.contents() if not pane["pane"]["retraction"]}
    assert {k: (pane["total"], pane["pane"]["timing"]) for k, pane in last.items()} == {
        "a": (2, "on_time"),
        "b": (1, "on_time"),
    }


def test_rows_that_match_no_pattern_step_are_counted_and_sent_to_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, out, late = connect.memory(), connect.memory(), connect.memory()
    pipeline = Pipeline("sifted")
    rows = pipeline.read("rows", feed, schema="k string, v int, ts timestamp").event_time("ts")
    pair = patterns.step("one", "v = 1").followed_by("two", "v = 2 and one.k = k")
    actual = rows.key_by("k").match("pairs", pair, within="1 minute", select={"at": "two.ts"})
    actual.write("out", out)
    actual.late.write("late", late)

    def run(**how: Any) -> str:
        with pipeline.start(checkpoint=tmp_path / "checkpoint", **how) as running:
            running.wait(timeout=300)
            return str(running.status().steps["pairs"])

    # Only the last row moves the watermark, and it is one that the pattern has no use for.
    feed.add(row("a", 5), row("a", 6) | {"v": 7}, row("b", 90) | {"v": None})
    assert run(until="caught_up") == "3 rows = 3 processed"
    feed.add(row("a", 60) | {"v": 2}, row("a", 61) | {"v": 7}, row("a", 91) | {"v": 7})
    assert run(until="caught_up") == "3 rows = 1 processed + 2 late"
    feed.add(row("a", 92), row("a", 93) | {"v": 2}, row("a", 94) | {"v": 7})
    assert run(until="drained") == "3 rows = 3 processed"
    assert sorted(item["v"] for item in late.contents()) == [2, 7]
    assert [item["at"].second for item in out.contents()] == [33]
    files = (tmp_path / "checkpoint" / "unrouted" / "pairs.timeouts").glob("*.json")
    [timeout] = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert (timeout["k"], len(timeout["one"]), timeout["two"]) == ("a", 1, []), (
        "it has no sink, so it is stored"
    )


def test_counted_late_rows_and_timeouts_store_no_columns_and_no_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, out = connect.memory(), connect.memory()
    pipeline = Pipeline("counted")
    rows = pipeline.read("rows", feed, schema="k string, v int, note string, ts timestamp").event_time("ts")
    pair = patterns.step("one", "v = 1").followed_by("two", "v = 2 and ts > one.ts")
    actual = rows.key_by("k").match(
        "pairs", pair, within="1 minute", select={"at": "two.ts"}, late_rows="count", timeouts="count"
    )
    actual.write("out", out)
    feed.add(row("a", 5), row("b", 90), row("b", 91) | {"v": 2, "note": "x"})
    with pipeline.start(checkpoint=tmp_path / "checkpoint", until="caught_up") as running:
        running.wait(timeout=300)
    [held] = state_of(pipeline._plan(), tmp_path / "checkpoint", step="pairs")
    [waiting] = [item["row"] for entry in held.stored.entries for item in entry["waiting"]]
    assert set(waiting) == {"k", "v", "ts"}, "nothing speaks of the note, so it is not kept"
    feed.add(row("a", 20) | {"v": 2}, row("c", 200))
    with pipeline.start(checkpoint=tmp_path / "checkpoint", until="drained") as running:
        running.wait(timeout=300)
        status = running.status()
    assert [item["at"].second for item in out.contents()] == [31]
    assert (status.late, status.steps["pairs"].timed_out) == (1, 1)
    assert not (tmp_path / "checkpoint" / "unrouted").exists()


def test_batch_computed_twice_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(json.dumps({"k": k, "t": 1}) for k in "abcabc"))
    frame = (
        spark.readStream.schema("k string, t bigint")
        .json(str(tmp_path / "in"))
        .withColumn("__ts", F.timestamp_seconds("t"))
        .withWatermark("__ts", "0 seconds")
    )
    counts, taken = Counts(spark), {}
    tagged = aggregate_windows(
        frame, ["k"], windows.tumbling("10 seconds"), Emission(), {"n": "count(*)"}, counts=counts
    )

    def look(batch: Any, epoch: int) -> None:
        batch.union(batch).coalesce(1).collect()
        batch.collect()
        taken[epoch] = counts.take(epoch)

    query = tagged.writeStream.foreachBatch(look).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()
    assert taken[0]["rows"] == taken[0]["assigned"] == 6
    assert counts.values()["rows"] == 6


def test_drain_ends_although_a_source_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("endless")
    rows = pipeline.read("tx", connect.generator(rate=50), schema="k int").processing_time()
    counts = rows.window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    counts.write("out", connect.memory())
    with pipeline.start(checkpoint=tmp_path, until="drained") as running:
        running.wait(timeout=300)
        accounting = running.status().steps["counts"]
    assert (accounting.late, accounting.open_windows) == (0, 0)
    assert accounting.emitted > 0
