"""A restored savepoint continues with its state; keyed sinks end with the same rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.checkpoints.comparison import compare
from headrace.checkpoints.planned_state import state_of_checkpoint
from headrace.checkpoints.savepoints import create_savepoint, restore_savepoint
from headrace.runtime.fresh import describe_restore


def row(second: int) -> dict[str, Any]:
    return {"k": "a", "ts": f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z"}


def test_restored_savepoint_continues_with_state_and_exchanges(spark: SparkSession, tmp_path: Path) -> None:
    inbox, checkpoint, log = tmp_path / "in", tmp_path / "checkpoint", connect.memory()
    inbox.mkdir()
    pipeline = Pipeline("chained")
    source = connect.files(path=str(inbox), format="csv")
    rows = pipeline.read("rows", source, schema="k string, ts timestamp").event_time("ts")
    tens = rows.key_by("k").window(windows.tumbling("10 seconds")).aggregate("tens", n="count(*)")
    tens.write("log", log)
    minutes = tens.window(windows.tumbling("1 minute")).aggregate("minutes", n="sum(n)")
    key = ["window_start"]
    flat = minutes.select("window.start as window_start", "n")
    flat.write("table", connect.sqlite(path=str(tmp_path / "out.db"), table="minutes", key=key))

    def add(name: str, seconds: range) -> None:
        (inbox / name).write_text("".join("{k},{ts}\n".format(**row(second)) for second in seconds))

    add("1.csv", range(0, 95, 5))
    pipeline.run(until="caught_up", checkpoint=checkpoint)
    create_savepoint("chained", checkpoint, "middle")
    first = len(log.contents())
    add("2.csv", range(95, 240, 5))
    pipeline.run(until="drained", checkpoint=checkpoint)
    table, whole = table_rows(tmp_path), len(log.contents())
    assert 0 < first < whole
    assert [n for _, n in table] == [12] * 4

    effects = list(describe_restore(pipeline._plan(), checkpoint, "middle"))
    assert effects[1:] == [
        "  log (memory): rows are written again and appended to those written since",
        "  table (sqlite): rows with the same key (window_start) are overwritten",
    ]
    restore_savepoint("chained", checkpoint, "middle")
    assert compare(state_of_checkpoint(checkpoint), pipeline._plan()).verdict == "compatible"
    pipeline.run(until="drained", checkpoint=checkpoint)
    assert table_rows(tmp_path) == table
    assert len(log.contents()) == whole + (whole - first)


def table_rows(directory: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(directory / "out.db") as database:
        return database.execute("select window_start, n from minutes order by 1").fetchall()
