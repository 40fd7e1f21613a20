"""Measurements that the page "At scale" extrapolates from: the costs of an epoch by partitions, rows and keys.

    python -m benchmarks.at_scale [--rows 200000] [--keys 50000]

Runs a window with state in local mode, with 2, 8 and 32 partitions. It prints the CPU time of all processes,
which is less disturbed by other work than the clock: for a row of a large epoch, and for an almost empty
epoch; the files that such an epoch adds to the checkpoint; and the bytes of state per key.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.cpu_meter import CpuMeter
from headrace import Pipeline, connect, windows
from headrace.runtime.progress.status import Status

PARTITIONS = (2, 2, 8, 32)
"""The first one warms up."""
SMALL_EPOCHS = 8


def main() -> None:
    """Measure with each number of partitions and print a table."""
    parser = argparse.ArgumentParser(description="Costs of an epoch.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=50_000)
    options = parser.parse_args()
    with CpuMeter() as meter:
        for partitions in PARTITIONS:
            with tempfile.TemporaryDirectory() as directory:
                figures = measure(Path(directory), partitions, options.rows, options.keys, meter)
            sys.stdout.write(f"{partitions:>3} partitions  {figures}\n")
            sys.stdout.flush()


def measure(place: Path, partitions: int, rows: int, keys: int, meter: CpuMeter) -> str:
    """Run one large epoch, then some small ones."""
    checkpoint = place / "checkpoint"
    write(place, 0, (f'{{"k": {number % keys}, "ts": "2026-03-02T09:00:00Z"}}' for number in range(rows)))
    large, status = run(place, partitions, meter)
    files = count_files(checkpoint)
    for number in range(1, SMALL_EPOCHS + 1):
        write(place, number, [f'{{"k": {number}, "ts": "2026-03-02T09:00:0{number}Z"}}'])
    began = time.monotonic()
    small, last = run(place, partitions, meter)
    seconds = (time.monotonic() - began) / SMALL_EPOCHS
    added = (count_files(checkpoint) - files) / SMALL_EPOCHS
    state = sum(query.state_bytes for query in status.queries)
    phases = ", ".join(f"{name} {ms}" for query in last.queries for name, ms in query.phases.items())
    return (
        f"{large / rows * 1e6:.1f} us CPU per row, {state / keys:.0f} bytes of state per key; small epoch: "
        f"{small / SMALL_EPOCHS:.2f} s CPU, {seconds:.2f} s, {added:.0f} more files (last, ms: {phases})"
    )


def build(place: Path) -> Pipeline:
    """Build a pipeline with one window per key, which stays open."""
    pipeline = Pipeline("at-scale")
    source = connect.files(path=str(place / "in"), format="json", max_files_per_batch=1)
    rows = pipeline.read("rows", source, schema="k bigint, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    counts.write("out", connect.files(path=str(place / "out"), format="json"))
    return pipeline


def run(place: Path, partitions: int, meter: CpuMeter) -> tuple[float, Status]:
    """Process the available input; return the CPU seconds and the last status."""
    before = meter.seconds()
    conf = {"spark.sql.shuffle.partitions": str(partitions)}
    with build(place).start(until="caught_up", checkpoint=place / "checkpoint", conf=conf) as handle:
        handle.wait()
        status = handle.status()
    return meter.seconds() - before, status


def write(place: Path, number: int, lines: Iterable[str]) -> None:
    """Write one file of the input; Spark reads the oldest first."""
    file = place / "in" / f"{number}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def count_files(place: Path) -> int:
    """Return the number of files below a directory."""
    return sum(1 for path in place.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
