"""The cost of small epochs: micro-batches and CPU time per file of 1,000 rows, by the shape of the pipeline.

    python -m benchmarks epochs [--shapes one four chain2 chain4 --files 8 --warm 8 --runs 3]
    python -m benchmarks epochs --against DIR    # alternates with the code in another worktree, kernel compiled
    python -m benchmarks epochs --trace          # prints every micro-batch

A file is written once the queries have processed the one before, so that each micro-batch has work of one
file. CPU time is that of this process and the JVM, polls included. `idle` is the share of a core that the
pipeline uses while no file arrives.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cpu_meter import CpuMeter
from benchmarks.topics import exit_on_sigterm
from headrace import Pipeline, connect, windows
from headrace.spark.session import open_session

SHAPES = {"one": [10], "four": [10, 20, 30, 60], "chain2": [10, 60], "chain4": [10, 30, 60, 120]}
"""Lengths of the windows in seconds: side by side in `four`, else each over the panes of the one before."""
ROWS, KEYS, SECONDS = 1_000, 100, 10
"""Rows of a file, their keys, and the event time that a file covers."""
DISORDER = 6
IDLE, PAUSE = 20, 5
"""Seconds without a file, to measure an idle pipeline, and those before them, in which the JIT compiles."""
QUIET = 0.6
"""A query is idle if it has not been busy for so many seconds."""


@dataclass(frozen=True)
class Figures:
    """What a file of one shape costs."""

    shape: str
    cpu: float
    """CPU seconds."""
    batches: float
    empty: float
    """Micro-batches without rows, which are part of `batches`."""
    seconds: float
    """From the file to the last micro-batch."""
    idle: float
    """CPU seconds per second without a file."""


def main() -> None:
    """Measure each shape and print a table."""
    parser = argparse.ArgumentParser(description="Cost of small epochs.")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--files", type=int, default=12, help="measured files")
    parser.add_argument("--warm", type=int, default=12, help="files before them")
    parser.add_argument("--runs", type=int, default=3, help="JVMs of each side, with --against")
    parser.add_argument("--idle", type=float, default=IDLE, help="seconds; 0: not measured")
    parser.add_argument("--against", type=Path, help="a worktree with other code")
    parser.add_argument("--trace", action="store_true", help="print every measured micro-batch")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with exit_on_sigterm():
        if options.against:
            compare(options)
        else:
            for shape in options.shapes:
                figures = measure(shape, options)
                sys.stdout.write(f"{json.dumps(asdict(figures)) if options.json else figures}\n")
                sys.stdout.flush()


def compare(options: argparse.Namespace) -> None:
    """Alternate runs of both sides, each in a JVM of its own, and print medians."""
    ours = Path(__file__).parents[1]
    sides: dict[str, Path] = {"before": options.against.absolute(), "now": ours}
    words = ["--files", options.files, "--warm", options.warm, "--idle", options.idle, "--json"]
    sys.stdout.write("| shape | side | micro-batches | without rows | CPU s | each run | seconds | idle |\n")
    for shape in options.shapes:
        runs: dict[str, list[Figures]] = {side: [] for side in sides}
        for _ in range(options.runs):
            for side, root in sides.items():
                command = [sys.executable, __file__, "--shapes", shape, *map(str, words)]
                path = f"{root / 'src'}:{ours}"
                done = subprocess.run(
                    command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True
                )
                runs[side].append(Figures(**json.loads(done.stdout.splitlines()[-1])))
        for side, each in runs.items():
            all_cpu = ", ".join(f"{figures.cpu:.2f}" for figures in each)
            medians = [median(each, name) for name in ("batches", "empty", "cpu", "seconds", "idle")]
            batches, empty, cpu, seconds, idle = medians
            sys.stdout.write(
                f"| {shape} | {side} | {batches:.1f} | {empty:.1f} | {cpu:.2f} | {all_cpu} | {seconds:.2f} | "
                f"{idle:.1%} |\n"
            )
            sys.stdout.flush()


def median(runs: Iterable[Figures], name: str) -> float:
    """Return the median of a figure over all runs."""
    return statistics.median(float(getattr(figures, name)) for figures in runs)


def measure(shape: str, options: argparse.Namespace) -> Figures:
    """Run the pipeline of one shape, file by file."""
    spark = open_session("epochs", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    meter = CpuMeter()  # not entered, because its samples are much of what an idle pipeline uses
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "in").mkdir()
        handle = build(shape, place).start(checkpoint=place / "checkpoint", progress=False)
        while len(spark.streams.active) < len(SHAPES[shape]):
            time.sleep(0.1)
        try:
            for number in range(options.warm):
                write(place, number)
                await_idle(spark)
            streams = list(spark.streams.active)
            before, cpu, began = epochs(streams), meter.seconds(), time.monotonic()
            waited = 0.0
            for number in range(options.warm, options.warm + options.files):
                write(place, number)
                waited += await_idle(spark)
            used, seconds = meter.seconds() - cpu, time.monotonic() - began - waited
            after = epochs(streams)
            reports = [report for stream in streams for report in new_reports(stream, before)]
            if options.trace:
                trace(reports)
            time.sleep(PAUSE if options.idle else 0)
            cpu, began = meter.seconds(), time.monotonic()
            time.sleep(options.idle)
            idle = (meter.seconds() - cpu) / (time.monotonic() - began) if options.idle else 0.0
        finally:
            handle.kill()
    files = options.files
    batches = (after - before).total()
    empty = sum(report["numInputRows"] == 0 for report in reports)
    return Figures(shape, used / files, batches / files, empty / files, seconds / files, idle)


def build(shape: str, place: Path) -> Pipeline:
    """Build the pipeline of a shape."""
    pipeline = Pipeline(f"epochs-{shape}")
    source = connect.files(path=str(place / "in"), format="json", max_files_per_batch=1)
    payments = pipeline.read("payments", source, schema="card string, amount double, ts timestamp")
    rows: Any = payments.event_time("ts", out_of_order="5 seconds")
    sums = {"n": "count(*)", "total": "sum(amount)"}
    for length in SHAPES[shape]:
        panes = rows.key_by("card").window(windows.tumbling(f"{length} seconds"))
        panes = panes.aggregate(f"w{length}", **sums)
        panes.write(f"out{length}", connect.files(path=str(place / f"out{length}"), format="parquet"))
        if shape.startswith("chain"):
            rows, sums = panes, {"n": "sum(n)", "total": "sum(total)"}
    return pipeline


def write(place: Path, number: int) -> None:
    """Write a file whose rows are out of order by up to `DISORDER` seconds."""
    lines = []
    for row in range(ROWS):
        at = 1_700_000_000 + number * SECONDS + row * SECONDS / ROWS - DISORDER * (row * 0.618 % 1)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f"{at % 1:.6f}"[1:] + "Z"
        lines.append(json.dumps({"card": f"c{row * 7919 % KEYS}", "amount": row % 100, "ts": stamp}))
    draft = place / "draft"
    draft.write_text("\n".join(lines) + "\n")
    shutil.move(draft, place / "in" / f"{number:06}.json")


def await_idle(spark: Any) -> float:
    """Wait until no query has been busy for a while; return how long that while was."""
    time.sleep(0.2)  # until the file has been listed
    quiet = time.monotonic()
    while (now := time.monotonic()) - quiet < QUIET:
        if not spark.streams.active:
            raise SystemExit("the pipeline has ended")
        if any(stream.status["isTriggerActive"] for stream in spark.streams.active):
            quiet = now
        time.sleep(0.05)
    return QUIET


def epochs(streams: Iterable[Any]) -> Counter[str]:
    """Return the number of epochs of each query."""
    return Counter({stream.name: stream.lastProgress["batchId"] + 1 for stream in streams})


def new_reports(stream: Any, before: Counter[str]) -> list[Any]:
    """Return the reports of the measured micro-batches, of which Spark keeps the last 100."""
    reports = {
        report["batchId"]: report for report in stream.recentProgress if report["durationMs"].get("addBatch")
    }
    return [report for number, report in reports.items() if number >= before[stream.name]]


def trace(reports: Iterable[Any]) -> None:
    """Print the micro-batches in the order in which they started."""
    for report in sorted(reports, key=lambda each: each["timestamp"]):
        name, watermark = report["name"].partition(".")[2], report["eventTime"].get("watermark", "")
        sys.stderr.write(
            f"{report['timestamp'][14:23]} {name:>8} {report['batchId']:>4} {report['numInputRows']:>5} rows "
            f"{watermark[14:19]} {json.dumps(dict(report['durationMs']))}\n"
        )


if __name__ == "__main__":
    main()
