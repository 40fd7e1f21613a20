"""Measurements that the page "At scale" extrapolates from: the costs of an epoch by partitions, rows and keys.

    python -m benchmarks.at_scale [--rows 200000] [--keys 50000] [--partitions 2 8 32] [--executors 4]

Runs a window with state in local mode, or on a standalone cluster with executors of one core each. It prints the
time and the CPU time of all processes, which is less disturbed by other work than the clock: for a row of a
large epoch, and for an almost empty epoch; the files that such an epoch adds to the checkpoint; and the bytes
of state per key. A first run, which is not printed, warms up.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu_meter import CpuMeter
from benchmarks.topics import exit_on_sigterm
from headrace import Pipeline, connect, windows
from headrace.devtools import spark_cluster
from headrace.devtools.spark_cluster import ClusterOptions
from headrace.runtime.progress.status import Status

SMALL_EPOCHS = 8


def main() -> None:
    """Measure with each number of partitions and print a table."""
    parser = argparse.ArgumentParser(description="Costs of an epoch.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=50_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--executors", type=int, help="default: local mode on all cores")
    options = parser.parse_args()
    with exit_on_sigterm(), CpuMeter() as meter, open_master(options.executors) as master:
        for number, partitions in enumerate([options.partitions[0], *options.partitions]):
            with tempfile.TemporaryDirectory() as directory:
                bench = Bench(Path(directory), master, partitions, meter)
                figures = bench.measure(options.rows, options.keys)
            if number:
                sys.stdout.write(f"{partitions:>3} partitions  {figures}\n")
                sys.stdout.flush()


@contextmanager
def open_master(executors: int | None) -> Iterator[str]:
    """Return a master: this process, or a cluster with one worker of one core per executor."""
    if executors is None:
        yield "local[*]"
        return
    with tempfile.TemporaryDirectory() as directory:
        cluster = spark_cluster.start(Path(directory), ClusterOptions(workers=executors, port=0))
        try:
            yield cluster.master
        finally:
            cluster.stop()


@dataclass(frozen=True)
class Bench:
    """A pipeline in a directory of its own, with a master and a number of partitions."""

    place: Path
    master: str
    partitions: int
    meter: CpuMeter

    def measure(self, rows: int, keys: int) -> str:
        """Run one large epoch, then some small ones."""
        checkpoint = self.place / "checkpoint"
        lines = (f'{{"k": {number % keys}, "ts": "2026-03-02T09:00:00Z"}}' for number in range(rows))
        write(self.place, 0, lines)
        large, large_cpu, status = self.run()
        files = count_files(checkpoint)
        for number in range(1, SMALL_EPOCHS + 1):
            write(self.place, number, [f'{{"k": {number}, "ts": "2026-03-02T09:00:0{number}Z"}}'])
        small, small_cpu, last = self.run()
        added = (count_files(checkpoint) - files) / SMALL_EPOCHS
        state = sum(query.state_bytes for query in status.queries)
        phases = ", ".join(f"{name} {ms}" for query in last.queries for name, ms in query.phases.items())
        return (
            f"{rows} rows: {large:.1f} s, {large_cpu / rows * 1e6:.1f} us CPU per row, {state / keys:.0f} bytes of "
            f"state per key; small epoch: {small / SMALL_EPOCHS:.2f} s, {small_cpu / SMALL_EPOCHS:.2f} s CPU, "
            f"{added:.0f} more files (last, ms: {phases})"
        )

    def run(self) -> tuple[float, float, Status]:
        """Process the available input; return the seconds, the CPU seconds and the last status."""
        began, before = time.perf_counter(), self.meter.seconds()
        conf = {"spark.sql.shuffle.partitions": str(self.partitions)}
        checkpoint = self.place / "checkpoint"
        with build(self.place).start(
            until="caught_up", checkpoint=checkpoint, master=self.master, conf=conf
        ) as handle:
            handle.wait()
            status = handle.status()
        return time.perf_counter() - began, self.meter.seconds() - before, status


def build(place: Path) -> Pipeline:
    """Build a pipeline with one window per key, which stays open."""
    pipeline = Pipeline("at-scale")
    source = connect.files(path=str(place / "in"), format="json", max_files_per_batch=1)
    rows = pipeline.read("rows", source, schema="k bigint, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    counts.write("out", connect.files(path=str(place / "out"), format="json"))
    return pipeline


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
