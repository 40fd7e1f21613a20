"""The cost of metrics: a pipeline as a job with reports compared with the same pipeline without.

    python -m benchmarks.metrics_cost [--rows 1000000] [--runs 5]

Both run in one warm session, alternating. Prints the median rates and fails if the job is more than 5 %
slower.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.noop_sink import NoopSink
from headrace import Pipeline, connect, windows
from headrace.jobs.driver import Driver
from headrace.jobs.model import JobSettings

LIMIT = 1.05
BATCHES = 10


def build(rows: int) -> Pipeline:
    """Build a pipeline that counts generated rows in windows."""
    pipeline = Pipeline("metrics-cost")
    columns = {
        "k": {"choice": [f"k{n}" for n in range(1000)]},
        "v": {"uniform": {"high": 100}},
        "ts": {"timestamp": {"every": "1 millisecond", "jitter": "1 second"}},
    }
    source = connect.generator(rows=rows, columns=columns, max_rows_per_batch=rows // BATCHES)
    read = pipeline.read("rows", source, schema="k string, v double, ts timestamp")
    timed = read.where("v > 10").event_time("ts", out_of_order="2 seconds")
    sums = timed.key_by("k").window(windows.tumbling("10 seconds")).aggregate("sums", n="count(*)")
    sums.write("out", NoopSink())
    return pipeline


def run_plain(rows: int, directory: Path) -> None:
    """Run the pipeline without reports."""
    with build(rows).start(checkpoint=directory / "checkpoint", until="caught_up") as run:
        run.wait()


def run_job(rows: int, directory: Path) -> None:
    """Run the pipeline as the driver process of a job does."""
    Driver(directory, 1, JobSettings(until="caught_up")).run(lambda: build(rows))


def measure(run: Callable[[int, Path], None], rows: int) -> float:
    """Return the rows per second of one run."""
    with TemporaryDirectory() as directory:
        began = time.perf_counter()
        run(rows, Path(directory))
        return rows / (time.perf_counter() - began)


def main() -> None:
    """Measure, print the figures, and fail if one exceeds the limit."""
    parser = argparse.ArgumentParser(description="The cost of metrics.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    ways = {"without": run_plain, "with": run_job}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        measure(run, options.rows)
    for _ in range(options.runs):
        for name, run in ways.items():
            rates[name].append(measure(run, options.rows))
            sys.stderr.write(f"{name}: {rates[name][-1]:,.0f} rows/s\n")
    without, with_metrics = median(rates["without"]), median(rates["with"])
    cost = without / with_metrics
    sys.stdout.write(f"without metrics {without:,.0f} rows/s, with {with_metrics:,.0f}: {cost - 1:+.1%}\n")
    sys.exit(int(cost > LIMIT))


if __name__ == "__main__":
    main()
