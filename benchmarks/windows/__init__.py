"""Windows of the kernel beside what one would write by hand.

Rows per second, the cost of many keys, memory over time.

    python -m benchmarks windows                                   # all; takes most of an hour
    python -m benchmarks windows --case count-arrival --rows 200000
    python -m benchmarks windows --case many-keys --keys 100000
    python -m benchmarks windows --case memory

Both sides of a case read the same files and compute every row, in one Spark, warm, in turn. Tables, plots and
figures are in `benchmarks/results`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.harness import Measured
    from benchmarks.nowhere import Tally
    from benchmarks.windows.cases import Case

ALONE = ("many-keys", "many-keys-timed", "memory")
"""Cases that compare nothing by hand."""


def main() -> None:
    """Measure the cases that are asked for, or all."""
    from benchmarks.windows.cases import CASES
    from headrace.spark.session import open_session

    chosen = _options([case.name for case in CASES])
    spark = open_session(
        "bench-windows", master="local[2]", conf={"spark.driver.memory": chosen.driver_memory}
    )
    for case in CASES:
        if case.name in chosen.case:
            compared(spark, case, chosen)
    for name in ALONE:
        if name in chosen.case:
            _alone(spark, name, chosen)
    spark.stop()


def compared(spark: SparkSession, case: Case, chosen: argparse.Namespace) -> list[Measured]:
    """One case, both ways in turn; whether they did the same is looked at too.

    Raises:
        RuntimeError: they gave different results, so that their times say nothing.
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
            case.against: lambda: contender(case.against, case.by_hand),
            "Headrace": lambda: contender("Headrace", case.headrace),
        }
        measured = compare(case.title, contenders, rows=rows, runs=chosen.runs, warm_up=chosen.warm_up)
    if case.same and len({(tally.panes, tally.rows) for tally in tallies.values()}) > 1:
        raise RuntimeError(f"{case.name}: the two sides gave different results: {tallies}")
    _say(case, measured, tallies)
    return measured


def _say(case: Case, measured: list[Measured], tallies: dict[str, Tally]) -> None:
    ratio = measured[0].median / measured[1].median
    by_cpu = measured[0].cpu_median / measured[1].cpu_median if measured[1].cpu_median else ratio
    aim = f", aimed at {case.target:g}" if case.target is not None else ""
    setting = ", ".join(f"{name} gave {tally.panes:,} results" for name, tally in tallies.items())
    print(
        f"{case.name}: {ratio:.2f} times {case.against}, {by_cpu:.2f} times by CPU time{aim}; {setting}",
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
    options.add_argument("--case", action="append", choices=known, help="only this one; may be said again")
    options.add_argument("--rows", type=int, help="rows of input, instead of the case's own number")
    options.add_argument("--keys", type=int, help="keys, instead of one for 200 rows")
    options.add_argument("--batches", type=int, default=5, help="micro-batches that the input is read in")
    options.add_argument("--runs", type=int, default=3, help="runs of each side that count")
    options.add_argument("--warm-up", type=int, default=1, help="runs of each side before those")
    options.add_argument("--touched", type=int, default=10_000, help="many-keys: keys with rows in a batch")
    options.add_argument("--open-windows", type=int, default=1_000_000, help="memory: windows in state")
    options.add_argument("--epochs", type=int, default=200, help="memory: micro-batches")
    options.add_argument("--driver-memory", default="4g")
    chosen = options.parse_args()
    chosen.case = chosen.case or known
    return chosen
