"""Files of an exchange are deleted once every reader has committed them; results stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows


def row(second: int) -> dict[str, Any]:
    return {"k": "a", "ts": f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z"}


def test_exchange_does_not_grow_over_many_runs(spark: SparkSession, tmp_path: Path) -> None:
    feed, seconds, minutes = connect.memory(), connect.memory(), connect.memory()
    pipeline = Pipeline("chained")
    rows = pipeline.read("rows", feed, schema="k string, ts timestamp").event_time("ts")
    tens = rows.key_by("k").window(windows.tumbling("10 seconds")).aggregate("tens", n="count(*)")
    tens.write("tens_out", seconds)
    tens.window(windows.tumbling("1 minute")).aggregate("minutes", n="sum(n)").write("minutes_out", minutes)
    files = []
    for start in range(0, 300, 60):
        feed.add(*(row(second) for second in range(start, start + 60, 5)))
        pipeline.run(until="caught_up", checkpoint=tmp_path)
        files.append(len(list((tmp_path / "exchange" / "tens").glob("*.parquet"))))
    pipeline.run(until="drained", checkpoint=tmp_path)
    assert max(files[1:]) <= files[0] + 1, files
    assert sum(pane["n"] for pane in minutes.contents()) == 60
    assert [pane["n"] for pane in minutes.contents()] == [12] * 5
