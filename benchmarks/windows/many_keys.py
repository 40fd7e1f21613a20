"""What a batch costs when many keys are in state and few of them have rows in it.

Two pipelines, one with ten times the keys of the other in open windows. Then both get batches that touch the
same number of keys, in turn. The first batch of each turn loads the state, and with a timed early trigger it
also visits every open window whose time has come; it is reported apart.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness import Measured, report
from benchmarks.windows.epochs import Epoch, watched
from benchmarks.windows.inputs import in_order
from benchmarks.windows.jobs import windowed
from headrace import triggers, windows

SCHEMA = "key string, value double, ts timestamp"
BATCHES = 6
"""Batches of a turn; the first one doesn't count."""


@dataclass
class Keys:
    """One of the two: so many keys, each with an open window."""

    keys: int
    place: Path
    loaded: int = 0
    epochs: list[Epoch] = field(default_factory=list)
    firsts: list[Epoch] = field(default_factory=list)

    def add(self, spark: SparkSession, touched: int, batches: int) -> None:
        """More files, one for each batch, of so many rows with different keys."""
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
        made = self.place / f"made-{self.loaded}"
        rows.write.parquet(str(made))
        in_order(made)
        for file in sorted(made.glob("part-*")):
            self.loaded += 1
            file.rename(self.source / f"part-{self.loaded:06}.parquet")
        in_order(self.source)

    @property
    def source(self) -> Path:
        path = self.place / "in"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(self, spark: SparkSession, emit: dict[str, Any]) -> list[Epoch]:
        """Go on from the checkpoint with the files that are new."""
        pipeline, _ = windowed(
            self.source,
            windows.tumbling("365 days"),
            files=1,
            schema=SCHEMA,
            out_of_order="0 seconds",
            **emit,
        )
        with watched(spark) as watch:
            pipeline.run(until="caught_up", checkpoint=self.place / "checkpoint")
            return list(watch.settled())


def measure(
    spark: SparkSession, place: Path, *, keys: int, touched: int, timed: bool, runs: int
) -> list[Measured]:
    """The time of a batch with `keys` in state, beside that with a tenth of them."""
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
        _say(item)
    ratio = measured[1].median / measured[0].median
    print(
        f"a batch costs {ratio:.2f} times as much with ten times the keys, aimed at 1.5 at most", flush=True
    )
    return measured


def _say(item: Keys) -> None:
    first = statistics.median(epoch.millis for epoch in item.firsts)
    visits = statistics.median(epoch.visits for epoch in item.firsts)
    print(
        f"{item.keys:,} keys: the first batch of a run takes {first / 1000:.2f} s, with {visits:,.0f} visits "
        f"by timer; later ones have {statistics.median(e.visits for e in item.epochs):,.0f}",
        flush=True,
    )
