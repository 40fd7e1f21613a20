"""Measurements that the page "At scale" extrapolates from: costs of an epoch by partitions, rows and keys.

    python -m benchmarks.at_scale [--rows 200000] [--keys 50000]

Runs a window with state in local mode, with 2, 8 and 32 partitions: the duration of an almost empty epoch and
its phases, the files that it adds to the checkpoint, the rows per second of a large epoch, and the bytes of
state per key. Ratios hold on any machine; the durations belong to this one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from headrace import Pipeline, connect, windows
from headrace.spark.session import open_session

PARTITIONS = (2, 8, 32)
SMALL_EPOCHS = 5


@dataclass(frozen=True)
class Epoch:
    """One epoch of the query."""

    rows: int
    milliseconds: int
    phases: dict[str, int]


def main() -> None:
    """Measure with each number of partitions and print a table."""
    parser = argparse.ArgumentParser(description="Costs of an epoch.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=50_000)
    options = parser.parse_args()
    for partitions in PARTITIONS:
        with tempfile.TemporaryDirectory() as directory:
            for line in measure(Path(directory), partitions, options.rows, options.keys):
                sys.stdout.write(f"{partitions:>3} partitions  {line}\n")
        sys.stdout.flush()


def measure(place: Path, partitions: int, rows: int, keys: int) -> list[str]:
    """Run one large and some small epochs."""
    spark = open_session("at-scale")
    numbers = spark.range(rows).selectExpr(f"id % {keys} AS k", "timestamp '2026-03-02 09:00:00' AS ts")
    numbers.coalesce(1).write.mode("append").json(str(place / "in"))
    conf = {"spark.sql.shuffle.partitions": str(partitions)}
    checkpoint = place / "checkpoint"
    large = run(build(place), checkpoint, conf)
    state_bytes = large[-1][1]
    files = count_files(checkpoint)
    small = []
    for number in range(SMALL_EPOCHS):
        row = spark.range(1).selectExpr("id AS k", f"timestamp '2026-03-02 09:00:0{number}' AS ts")
        row.write.mode("append").json(str(place / "in"))
        small.append(run(build(place), checkpoint, conf)[0][0])
    added = (count_files(checkpoint) - files) / SMALL_EPOCHS
    speed = rows / max(epoch.milliseconds for epoch, _ in large) * 1000
    phases = {name: median(epoch.phases.get(name, 0) for epoch in small) for name in sorted(small[0].phases)}
    return [
        f"large epoch: {speed:,.0f} rows/s, {state_bytes / keys:.0f} bytes of state per key",
        f"small epoch: {median(epoch.milliseconds for epoch in small):.0f} ms, {added:.0f} more files",
        f"phases: {', '.join(f'{name} {value:.0f}' for name, value in phases.items())}",
    ]


def build(place: Path) -> Pipeline:
    """Build a pipeline with one window per key, which stays open."""
    pipeline = Pipeline("at-scale")
    source = connect.files(path=str(place / "in"), format="json")
    rows = pipeline.read("rows", source, schema="k bigint, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    counts.write("out", connect.files(path=str(place / "out"), format="json"))
    return pipeline


def run(pipeline: Pipeline, checkpoint: Path, conf: dict[str, str]) -> list[tuple[Epoch, int]]:
    """Process the available input; return its epochs, each with the bytes of state after it."""
    seen: dict[int | None, tuple[Epoch, int]] = {}
    with pipeline.start(until="caught_up", checkpoint=checkpoint, conf=conf) as handle:
        while not handle.wait(0.02):
            note(handle.status(), seen)
        note(handle.status(), seen)
    return [each for each in seen.values() if each[0].rows]


def note(status: Any, seen: dict[int | None, tuple[Epoch, int]]) -> None:
    """Add the last epoch of a run."""
    for query in status.queries:
        if query.batch_ms:
            epoch = Epoch(status.rows_in, query.batch_ms, dict(query.phases))
            seen[query.epoch] = (epoch, query.state_bytes)


def count_files(place: Path) -> int:
    """Return the number of files below a directory."""
    return sum(1 for path in place.rglob("*") if path.is_file())


if __name__ == "__main__":
    began = time.monotonic()
    main()
    sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
