"""Memory over many micro-batches with a steady number of open windows.

Each batch covers a minute of event time and opens a window per key. The watermark is delayed so that the windows
of 50 batches are open; from then on each batch opens as many as it closes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness import RESULTS
from benchmarks.windows.epochs import Epoch, watch_epochs
from benchmarks.windows.inputs import set_file_times
from benchmarks.windows.jobs import build_pipeline
from headrace import windows

SCHEMA = "key string, value double, ts timestamp"
OPEN_FOR = 50
"""Batches until a window closes."""


def measure(spark: SparkSession, place: Path, open_windows: int, epochs: int) -> list[Epoch]:
    """Run the pipeline and draw the plot."""
    source = _write_input(spark, place / "in", max(1, open_windows // OPEN_FOR), epochs)
    minutes = f"{OPEN_FOR - 1} minutes"
    pipeline, sink = build_pipeline(
        source, windows.tumbling("1 minute"), files=1, schema=SCHEMA, out_of_order=minutes
    )
    with watch_epochs(spark) as listener:
        pipeline.run(until="caught_up", checkpoint=place / "checkpoint")
        reports = list(listener.wait_for_reports())
    steady = reports[min(OPEN_FOR, len(reports) - 1) :]
    held = open_after(reports, sink.tally.by_epoch)
    RESULTS.mkdir(exist_ok=True)
    samples = [asdict(epoch) | {"open_windows": count} for epoch, count in zip(reports, held, strict=True)]
    (RESULTS / "memory.json").write_text(json.dumps(samples, indent=2))
    _plot(reports, held, RESULTS / "memory.svg")
    half = len(steady) // 2
    print(
        f"{len(reports)} batches, {sink.tally.panes:,} windows closed; open at the end {held[-1]:,}; resident "
        f"memory of the JVM at most {_gib(steady[: half or 1])} GiB in the first half of the steady part and "
        f"{_gib(steady[half:])} GiB in the second",
        flush=True,
    )
    return reports


def open_after(epochs: list[Epoch], closed: Mapping[int, int]) -> list[int]:
    """Return the number of open windows after each batch: a row opens one, a result closes one."""
    return [
        sum(e.rows for e in epochs if e.number <= epoch.number)
        - sum(panes for number, panes in closed.items() if number <= epoch.number)
        for epoch in epochs
    ]


def _write_input(spark: SparkSession, path: Path, keys: int, batches: int) -> Path:
    ids = spark.range(0, keys * batches, 1, batches)
    rows = ids.select(
        F.concat(F.lit("key-"), (F.col("id") % keys).cast("string")).alias("key"),
        F.lit(1.0).alias("value"),
        F.timestamp_seconds(F.floor(F.col("id") / keys) * 60 + 1_000_000).alias("ts"),
    )
    rows.write.parquet(str(path))
    return set_file_times(path)


def _gib(epochs: list[Epoch]) -> str:
    return f"{max(epoch.resident for epoch in epochs) / 2**30:.2f}"


def _plot(epochs: list[Epoch], held: list[int], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(8, 5), sharex=True)
    numbers = [epoch.number for epoch in epochs]
    above.plot(numbers, [epoch.resident / 2**30 for epoch in epochs], label="resident memory of the JVM")
    above.plot(
        numbers,
        [epoch.state_bytes / 2**30 for epoch in epochs],
        label="reported by the state store",
    )
    above.set_ylabel("GiB")
    above.set_ylim(bottom=0)
    above.legend()
    below.plot(numbers, [count / 1e6 for count in held], label="open windows, millions")
    below.plot(numbers, [epoch.millis / 1000 for epoch in epochs], label="a batch, seconds")
    below.set_xlabel("micro-batch")
    below.set_ylim(bottom=0)
    below.legend()
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
