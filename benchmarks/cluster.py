"""Card fraud on a standalone cluster of two workers compared with local mode on the same two cores.

    python -m benchmarks.cluster [--runs 2] [--speed max]

Each run is a separate process, `headrace run pipeline.yaml --drain`, and its time includes the start of Spark and
of the executors; the cluster is up, as `headrace cluster up` starts it. `--speed` replaces the speed of the
replay, 120 times that of the recording; `max` does not wait. The tables of both sides must be equal.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.cpu_meter import CpuMeter
from benchmarks.topics import exit_on_sigterm
from headrace.devtools import spark_cluster
from headrace.devtools.spark_cluster import ClusterOptions

EXAMPLE = Path(__file__).parents[1] / "examples" / "card_fraud"
TABLES = ("abroad", "tested", "totals")
AIM = 2.0


def main() -> None:
    """Run both sides in turn and print the ratio of their medians."""
    parser = argparse.ArgumentParser(description="Compare a cluster with local mode.")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--speed", default="120")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"local": [], "cluster": []}
    rows = []
    with exit_on_sigterm(), tempfile.TemporaryDirectory() as directory, CpuMeter() as meter:
        place = Path(directory)
        cluster = spark_cluster.start(place / "cluster", ClusterOptions(port=0))
        masters = {"local": "local[2]", "cluster": cluster.master}
        try:
            for number in range(options.runs):
                for side, master in masters.items():
                    before = meter.seconds()
                    work = place / f"{side}-{number}"
                    seconds[side].append(run(work, master, options.speed))
                    rows.append(read_tables(work))
                    cpu = meter.seconds() - before
                    sys.stdout.write(f"{side:<8} {seconds[side][-1]:6.1f} s  {cpu:6.1f} s CPU\n")
                    sys.stdout.flush()
        finally:
            cluster.stop()
    medians = {side: statistics.median(times) for side, times in seconds.items()}
    ratio, equal = medians["cluster"] / medians["local"], all(each == rows[0] for each in rows)
    sys.stdout.write(f"{ratio:.2f} times (aim {AIM:.0f}), rows {'equal' if equal else 'DIFFERENT'}\n")
    sys.exit(int(not equal))


def run(work: Path, master: str, speed: str) -> float:
    """Run a copy of the example to its end; return the seconds of the whole process."""
    shutil.copytree(EXAMPLE, work, ignore=shutil.ignore_patterns("__pycache__", ".headrace", "*.db"))
    document = work / "pipeline.yaml"
    document.write_text(re.sub(r"speed: \d+", f"speed: {speed}", document.read_text()))
    command = [sys.executable, "-m", "headrace.cli.app", "run", document.name, "--drain", "--quiet"]
    began = time.perf_counter()
    subprocess.run([*command, "--master", master], cwd=work, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def read_tables(work: Path) -> list[list[tuple[object, ...]]]:
    """Return the rows of each table."""
    with closing(sqlite3.connect(work / "fraud.db")) as database:
        return [sorted(database.execute(f"select * from {table}")) for table in TABLES]


if __name__ == "__main__":
    main()
