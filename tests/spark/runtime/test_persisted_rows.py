"""The rows of an epoch are persisted for several sinks and released at its end."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows


def test_an_epoch_with_several_sinks_releases_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    before = persisted(spark)
    rows = [{"k": "a", "ts": f"2026-03-02T09:0{minute}:00Z"} for minute in (0, 5, 1)]
    panes, late = connect.memory(), connect.memory()
    pipeline = Pipeline("released")
    timed = pipeline.read("rows", connect.memory(rows=rows), schema="k string, ts timestamp").event_time("ts")
    totals = timed.key_by("k").window(windows.tumbling("1 minute")).aggregate("totals", n="count(*)")
    totals.write("panes", panes)
    totals.late.write("late", late)
    pipeline.run(until="drained", checkpoint=tmp_path / "checkpoint", progress=False)
    assert panes.contents()
    assert persisted(spark) == before


def persisted(spark: SparkSession) -> int:
    """Return the number of persisted RDDs."""
    return len(spark.sparkContext._jsc.getPersistentRDDs())
