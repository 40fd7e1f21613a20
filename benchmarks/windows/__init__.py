"""Windows of the kernel compared with plain PySpark: rate, cost of many keys, memory over time.

    python -m benchmarks windows                                   # all cases; most of an hour
    python -m benchmarks windows --case count-arrival --rows 200000
    python -m benchmarks windows --case many-keys --keys 100000
    python -m benchmarks windows --case memory

Both sides of a case read the same files and compute every row, alternating in one warm session. Tables and plots
are written to `benchmarks/results`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.harness import Measured
    from benchmarks.noop_sink import Tally
    from benchmarks.windows.cases import Case

ALONE = ("many-keys", "many-keys-timed", "memory")
"""Cases without a PySpark side."""


def main() -> None:
    """Measure the selected cases, or all."""
    from benchmarks.windows.cases import CASES
    from headrace.spark.session import open_session

    chosen = _options([case.name for case in CASES])
    spark = open_session(
        "bench-windows", master="local[2]", conf={"spark.driver.memory": chosen.driver_memory}
    )
    for case in CASES:
        if case.name in chosen.case:
            compare_sides(spark, case, chosen)
    for name in ALONE:
        if name in chosen.case:
            _alone(spark, name, chosen)
    spark.stop()


def compare_sides(spark: SparkSession, case: Case, chosen: argparse.Namespace) -> list[Measured]:
    """Measure both sides of a case, alternating, and compare their results.

    Raises:
        RuntimeError: the sides produced different results.
    """
    from benchmarks.harness import compare
    from benchmarks.windows.inputs import Shape, write_rows
    from benchmarks.windows.jobs import Job, Setting

    rows = chosen.rows or case.rows
    shape = Shape(rows, chosen.keys or max(1, rows // case.rows_per_key), chosen.batches)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        setting = Setting(spark, write_rows(spark, place / "in", shape, case.kind), place)
        tallies: dict[str, Tally] = {}

        def contender(name: str, job: Job) -> None:
            tallies[name] = job(setting)

        contenders = {
            case.against: lambda: contender(case.against, case.by_pyspark),
            "Headrace": lambda: contender("Headrace", case.headrace),
        }
        measured = compare(case.title, contenders, rows=rows, runs=chosen.runs, warm_up=chosen.warm_up)
    if case.same and len({(tally.panes, tally.rows) for tally in tallies.values()}) > 1:
        raise RuntimeError(f"{case.name}: the sides produced different results: {tallies}")
    _print_summary(case, measured, tallies)
    return measured


def _print_summary(case: Case, measured: list[Measured], tallies: dict[str, Tally]) -> None:
    ratio = measured[0].median / measured[1].median
    by_cpu = measured[0].cpu_median / measured[1].cpu_median if measured[1].cpu_median else ratio
    target = f", target {case.target:g}" if case.target is not None else ""
    results = ", ".join(f"{name}: {tally.panes:,} results" for name, tally in tallies.items())
    print(
        f"{case.name}: {ratio:.2f} times {case.against}, {by_cpu:.2f} times by CPU time{target}; {results}",
        flush=True,
    )


def _alone(spark: SparkSession, name: str, chosen: argparse.Namespace) -> None:
    from benchmarks.windows import many_keys, memory

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        if name == "memory":
            memory.measure(spark, Path(directory), chosen.open_windows, chosen.epochs)
        else:
            many_keys.measure(
                spark,
                Path(directory),
                keys=chosen.keys or 1_000_000,
                touched=chosen.touched,
                timed=name.endswith("timed"),
                runs=chosen.runs,
            )


def _options(names: list[str]) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks windows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = [*names, *ALONE]
    options.add_argument("--case", action="append", choices=known, help="only this case; repeatable")
    options.add_argument("--rows", type=int, help="input rows; default: set by the case")
    options.add_argument("--keys", type=int, help="keys; default: one per 200 rows")
    options.add_argument("--batches", type=int, default=5, help="micro-batches")
    options.add_argument("--runs", type=int, default=3, help="measured runs per side")
    options.add_argument("--warm-up", type=int, default=1, help="warm-up runs per side")
    options.add_argument("--touched", type=int, default=10_000, help="many-keys: keys with rows in a batch")
    options.add_argument("--open-windows", type=int, default=1_000_000, help="memory: windows in state")
    options.add_argument("--epochs", type=int, default=200, help="memory: micro-batches")
    options.add_argument("--driver-memory", default="4g")
    chosen = options.parse_args()
    chosen.case = chosen.case or known
    return chosen
