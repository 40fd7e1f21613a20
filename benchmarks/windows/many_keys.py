"""The cost of a batch with many keys in state, few of which have rows in it.

Two pipelines, one with ten times the keys of the other in open windows, alternately receive batches that touch
the same number of keys. The first batch of each turn loads the state, and with a processing-time trigger fires
every open window that is due; it is reported separately.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness import Measured, report
from benchmarks.windows.epochs import Epoch, watch_epochs
from benchmarks.windows.inputs import set_file_times
from benchmarks.windows.jobs import build_pipeline
from headrace import triggers, windows

SCHEMA = "key string, value double, ts timestamp"
BATCHES = 6
"""Batches of a turn, including the first, which is not measured."""


@dataclass
class Keys:
    """One of the two pipelines, with an open window per key."""

    keys: int
    place: Path
    loaded: int = 0
    epochs: list[Epoch] = field(default_factory=list)
    firsts: list[Epoch] = field(default_factory=list)

    def add(self, spark: SparkSession, touched: int, batches: int) -> None:
        """Add a file per batch, with `touched` rows of different keys."""
        stride = max(1, self.keys // touched)
        ids = spark.range(0, touched * batches, 1, batches)
        number = self.loaded + F.floor(F.col("id") / touched)
        rows = ids.select(
            F.concat(
                F.lit("key-"),
                F.pmod(F.col("id") % touched * stride + number * 7919, F.lit(self.keys)).cast("string"),
            ).alias("key"),
            F.lit(1.0).alias("value"),
            F.timestamp_seconds(number + 1_000_000).alias("ts"),
        )
        files = self.place / f"new-{self.loaded}"
        rows.write.parquet(str(files))
        set_file_times(files)
        for file in sorted(files.glob("part-*")):
            self.loaded += 1
            file.rename(self.source / f"part-{self.loaded:06}.parquet")
        set_file_times(self.source)

    @property
    def source(self) -> Path:
        path = self.place / "in"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(self, spark: SparkSession, emit: dict[str, Any]) -> list[Epoch]:
        """Resume from the checkpoint and process the new files."""
        pipeline, _ = build_pipeline(
            self.source,
            windows.tumbling("365 days"),
            files=1,
            schema=SCHEMA,
            out_of_order="0 seconds",
            **emit,
        )
        with watch_epochs(spark) as listener:
            pipeline.run(until="caught_up", checkpoint=self.place / "checkpoint")
            return list(listener.wait_for_reports())


def measure(
    spark: SparkSession, place: Path, *, keys: int, touched: int, timed: bool, runs: int
) -> list[Measured]:
    """Compare the time of a batch with `keys` in state and with a tenth of them."""
    early = triggers.every("1 second") if timed else triggers.after_count(1000)
    emit = {"early": early}
    both = [Keys(keys // 10, place / "few"), Keys(keys, place / "many")]
    for item in both:
        item.add(spark, item.keys, 1)
        item.run(spark, emit)
    for _ in range(runs):
        for item in both:
            item.add(spark, touched, BATCHES)
            first, *rest = item.run(spark, emit)
            item.firsts.append(first)
            item.epochs += rest
    measured = [
        Measured(f"{item.keys:,} keys in state", tuple(e.millis / 1000 for e in item.epochs), touched)
        for item in both
    ]
    report(f"a batch of {touched:,} rows{', timed early panes' if timed else ''}", measured)
    for item in both:
        _print_summary(item)
    ratio = measured[1].median / measured[0].median
    print(f"a batch costs {ratio:.2f} times as much with ten times the keys; target: at most 1.5", flush=True)
    return measured


def _print_summary(item: Keys) -> None:
    first = statistics.median(epoch.millis for epoch in item.firsts)
    visits = statistics.median(epoch.visits for epoch in item.firsts)
    print(
        f"{item.keys:,} keys: the first batch of a run takes {first / 1000:.2f} s, with {visits:,.0f} visits "
        f"by timer; later ones have {statistics.median(e.visits for e in item.epochs):,.0f}",
        flush=True,
    )
