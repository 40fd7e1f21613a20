"""Joins and lookups beside PySpark, Flink SQL and one call per row; JSON from Kafka, in one run.

    python -m benchmarks joins                                                  # all, 2 + 2 million events
    python -m benchmarks joins --case interval --warm 100000 --events 100000 --batch 50000

Each side runs in a process of its own, one after the other, and reads the same topics from their beginning: the
first `--warm` events warm it up, the next `--events` are measured, in the same run. Results are counted, and the
benchmark stops if a side has another number than a model (`model.py`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from benchmarks.connectors.setting import Outcome
    from benchmarks.joins.cases import JoinCase


def main() -> None:
    """Measure the cases that are named, or all."""
    from benchmarks import topics
    from benchmarks.joins import many_keys
    from benchmarks.joins.cases import CASES

    options = _options([*(case.name for case in CASES), "state"])
    if options.side:
        _run_side(options)
        return
    with topics.kafka(options.kept) as servers:
        for case in CASES:
            if case.name in options.case:
                compare(case, servers, options)
        if "state" in options.case:
            many_keys.main(servers, options)


def compare(case: JoinCase, servers: str, options: argparse.Namespace) -> list[tuple[str, Outcome]]:
    """Run the sides of a case one after the other, and print a table.

    Raises:
        RuntimeError: a side returned another number of results than the model.
    """
    from benchmarks import connectors, topics

    outcomes: list[tuple[str, Outcome]] = []
    with case.table(options.table) if case.table else nullcontext("") as url:
        for side in case.sides:
            if options.beside and side.name not in (*options.beside, "Headrace"):
                continue
            sizes = case.sizes(side, options)
            for rows in case.topics(sizes):
                topics.fill(servers, rows)
            command = [sys.executable, "-m", "benchmarks", "joins", "--case", case.name]
            command += ["--side", side.name, servers, url, "--keys", str(sizes.keys)]
            for name in ("warm", "events", "batch"):
                command += [f"--{name}", str(getattr(sizes, name))]
            command += ["--memory", options.memory]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            outcome = connectors.read_outcome(output)
            if outcome.results != (expected := case.expected(sizes)):
                raise RuntimeError(f"{case.name}: {side.name}: {outcome.results} results, not {expected}")
            outcomes.append((side.name, outcome))
            rate, results = outcome.consumed.rate, outcome.results
            Console().print(f"{case.name}: {side.name}: {rate:,.0f} events/s, {results:,} results")
    connectors.report(case, outcomes, "joins")
    return outcomes


def _run_side(options: argparse.Namespace) -> None:
    """Run one side in this process; its last line of output is the outcome."""
    from benchmarks.connectors.setting import Setting
    from benchmarks.joins.cases import CASES
    from headrace.spark.jars import fetch
    from headrace.spark.session import open_session

    name, servers, url = options.side
    case = next(case for case in CASES if case.name in options.case)
    side = case.side(name)
    spark = None
    if "Flink" not in name:
        conf = {"spark.driver.memory": options.memory}
        spark = open_session("bench-joins", master="local[2]", conf=conf, jars=fetch("kafka"))
    sizes = case.given_sizes(options)
    left, *right = [rows.topic for rows in case.topics(sizes)]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place:
        setting = Setting(servers, left, sizes.warm, sizes.events, sizes.batch, Path(place), url, *right)
        outcome = side.run(setting)
    if spark is not None:
        spark.stop()
    print(json.dumps(asdict(outcome)), flush=True)


def _options(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks joins",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", action="append", choices=names, help="run this case; repeatable")
    parser.add_argument("--beside", action="append", metavar="SIDE", help="run Headrace and this side only")
    parser.add_argument("--warm", type=int, help="events that warm a side up; default: 2 million for joins")
    parser.add_argument("--events", type=int, help="events that are measured; default: 2 million for joins")
    parser.add_argument("--batch", type=int, help="events of one micro-batch; default: 500 thousand")
    parser.add_argument("--keys", type=int, help="keys; default: by case")
    parser.add_argument("--table", type=int, default=1_000_000, help="keys of lookups and of the state")
    parser.add_argument("--memory", default="2g", help="heap of Spark's driver; Flink's is 2g")
    parser.add_argument("--kept", type=Path, default=Path("build/benchmarks/kafka"), help="where topics stay")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.case = options.case or names
    return options
