"""State that is repartitioned from 2 to 8 to 3 partitions gives the rows of an undisturbed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.checkpoints.repartition import repartition
from headrace.plan.queries import queries_of


def build(feed: Any, out: Any) -> Pipeline:
    pipeline = Pipeline("scaled")
    rows = pipeline.read("rows", feed, schema="k int, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
    counts.write("out", out)
    return pipeline


def test_scaling_from_2_to_8_to_3_partitions_keeps_every_row(spark: SparkSession, tmp_path: Path) -> None:
    pieces = [[{"k": k, "ts": f"2026-03-02T09:00:{s:02}Z"} for k in range(50)] for s in (5, 15, 25)]
    feed, out, expected = connect.memory(), connect.memory(), connect.memory()
    pipeline = build(feed, out)
    for piece, partitions in zip(pieces, (8, 3, 3), strict=True):
        feed.add(*piece)
        pipeline.run(until="caught_up", checkpoint=tmp_path / "a", conf={"spark.sql.shuffle.partitions": "2"})
        repartition(pipeline._plan(), tmp_path / "a", partitions)
        (query,) = queries_of(pipeline._plan())
        assert progress_of(checkpoint_of(tmp_path / "a", query)).partitions == partitions
    pipeline.run(until="drained", checkpoint=tmp_path / "a")
    undisturbed = connect.memory(rows=[row for piece in pieces for row in piece])
    build(undisturbed, expected).run(until="drained", checkpoint=tmp_path / "b")

    def read_counts(sink: Any) -> list[tuple[int, int]]:
        return sorted((row["k"], row["n"]) for row in sink.contents())

    assert read_counts(out) == read_counts(expected) == [(k, 3) for k in range(50)]
