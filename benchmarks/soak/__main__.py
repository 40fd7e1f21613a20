"""Soak test: every kind of step under a constant load; fails if a resource keeps growing.

    python -m benchmarks.soak --minutes 60

Samples the size of the checkpoint directory, the JVM's heap after a collection, the rows in state and the
open file descriptors, and draws them. The run fails if one of them grows by more than 10 % from the first
quarter of the duration (minute 15 of 60) to its end. Shorter durations are scaled. Spark retains the state of
20 epochs instead of 100, so that the checkpoint has its final size within the first quarter.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.soak.pipeline import build
from headrace.runtime.handle import RunHandle
from headrace.spark.gateway import jvm

GROWTH = 1.10
SAMPLES = 120
"""Samples of a run; more would cost it time, as the heap is collected for each."""
RETAINED_EPOCHS = {"spark.sql.streaming.minBatchesToRetain": "20"}


@dataclass(frozen=True)
class Sample:
    """Resources of the run at one moment."""

    seconds: float
    disk: float
    """MiB in the checkpoint directory, without logs, which are rotated at a fixed size."""
    heap: float
    """MiB of the JVM's heap in use after a collection."""
    state: float
    """Rows in open windows and buffered rows."""
    descriptors: float
    """Open file descriptors of the JVM and of Python."""


MEASURES = tuple(field.name for field in fields(Sample))[1:]


def measure(run: RunHandle, directory: Path, seconds: float) -> Sample:
    """Measure the resources of a run."""
    java: Any = jvm(run.spark).java.lang
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    pid = int(java.ProcessHandle.current().pid())
    descriptors = sum(len(list(Path(f"/proc/{process}/fd").iterdir())) for process in (pid, os.getpid()))
    return Sample(
        seconds,
        _size(directory) / 2**20,
        (runtime.totalMemory() - runtime.freeMemory()) / 2**20,
        run.status().in_open_windows,
        descriptors,
    )


def find_growth(samples: Sequence[Sample], duration: float) -> dict[str, float]:
    """Return the measures that grew by more than 10 % from the first quarter to the end, and by how much."""
    slot = duration / 8
    start = [s for s in samples if duration / 4 <= s.seconds < duration / 4 + slot]
    end = [s for s in samples if s.seconds >= duration - slot]
    ratios = {name: _median(end, name) / max(_median(start, name), 1.0) for name in MEASURES}
    return {name: ratio for name, ratio in ratios.items() if ratio > GROWTH}


def draw(samples: Sequence[Sample], file: Path) -> None:
    """Draw each measure over time as an SVG."""
    last = max(sample.seconds for sample in samples) or 1.0
    panels = []
    for number, name in enumerate(MEASURES):
        highest = max(getattr(sample, name) for sample in samples) or 1.0
        top = 20 + number * 120
        points = " ".join(
            f"{60 + 520 * sample.seconds / last:.1f},{top + 90 - 80 * getattr(sample, name) / highest:.1f}"
            for sample in samples
        )
        panels.append(f'<text x="60" y="{top}">{name}, up to {highest:,.0f}</text>')
        panels.append(f'<polyline fill="none" stroke="#1f6feb" points="{points}"/>')
    size = 20 + len(MEASURES) * 120
    style = 'font-family="sans-serif" font-size="12"'
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="{size}" {style}>{"".join(panels)}</svg>\n'
    )


def soak(minutes: float, every: str, results: Path) -> dict[str, float]:
    """Run the pipeline, store samples and drawing, and return the measures that grew."""
    duration, samples = minutes * 60, list[Sample]()
    with TemporaryDirectory(prefix="headrace-soak-") as place:
        checkpoint = Path(place) / "checkpoint"
        with build().start(
            checkpoint=checkpoint, every=every, master="local[2]", conf=RETAINED_EPOCHS
        ) as run:
            began = time.monotonic()
            while (seconds := time.monotonic() - began) < duration and not run.wait(duration / SAMPLES):
                samples.append(measure(run, checkpoint, seconds))
            run.stop()
    results.mkdir(parents=True, exist_ok=True)
    with (results / "soak.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seconds", *MEASURES])
        writer.writerows([s.seconds, *(getattr(s, name) for name in MEASURES)] for s in samples)
    draw(samples, results / "soak.svg")
    return find_growth(samples, duration)


def main() -> int:
    """Parse the command line and run the soak test."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", default="10 seconds", help="interval between micro-batches")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    growth = soak(arguments.minutes, arguments.every, arguments.results)
    for name, ratio in growth.items():
        sys.stderr.write(f"{name} grew to {ratio:.0%} of its size after a quarter of the time\n")
    return 1 if growth else 0


def _median(samples: Sequence[Sample], name: str) -> float:
    return float(median(getattr(sample, name) for sample in samples))


def _is_log(name: str) -> bool:
    return name.endswith(".jsonl") or ".log" in name


def _size(directory: Path) -> int:
    total = 0
    for root, _, names in os.walk(directory):
        for name in (name for name in names if not _is_log(name)):
            try:
                total += (Path(root) / name).stat().st_size
            except FileNotFoundError:  # deleted while the tree is read
                continue
    return total


if __name__ == "__main__":
    sys.exit(main())
