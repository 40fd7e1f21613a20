"""Kafka to Kafka and PostgreSQL: Headrace compared with plain PySpark and Flink SQL.

    python -m benchmarks connectors                   # all cases, 2 + 10 million events; an hour
    python -m benchmarks connectors --case filter --warm 200000 --events 1000000 --batch 100000

Each side runs in its own process and reads the same topic from the earliest offset: `--warm` events to warm up,
then `--events` measured events in the same run. All Spark sides use the same session settings.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.table import Table

from benchmarks.engines.consumed import Consumed

if TYPE_CHECKING:
    from benchmarks.connectors.cases import Case
    from benchmarks.connectors.setting import Outcome, Setting, Side


class Measurable(Protocol):
    """A case with sides that have targets."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    def side(self, name: str) -> Side: ...


def main() -> None:
    """Measure the selected cases, or all."""
    from benchmarks.connectors.cases import CASES

    chosen = _options([case.name for case in CASES])
    if chosen.side:
        _in_this_process(chosen)
        return
    for case in CASES:
        if case.name in chosen.case:
            compare_sides(case, chosen)


def compare_sides(case: Case, chosen: argparse.Namespace) -> list[tuple[str, Outcome]]:
    """Measure all sides of a case one after the other and print a table.

    Raises:
        RuntimeError: the sides produced different results.
    """
    from tests.support.servers import started

    from benchmarks import topics

    measured = []
    database = started("postgres") if case.database else nullcontext()
    with topics.kafka(chosen.kept) as servers, database as server:
        for side in case.sides:
            if chosen.beside and side.name not in (*chosen.beside, "Headrace"):
                continue
            count = int((chosen.warm + chosen.events) * side.share)
            topic = topics.fill(servers, topics.Events(count, chosen.keys))
            command = [sys.executable, "-m", "benchmarks", "connectors", "--case", case.name]
            command += [
                "--side",
                side.name,
                servers,
                topic,
                server.url if server else "",
                "--batch",
                str(chosen.batch),
            ]
            command += ["--warm", str(chosen.warm), "--events", str(chosen.events), "--memory", chosen.memory]
            message = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            measured.append((side.name, read_outcome(message)))
            Console().print(f"{case.name}: {side.name}: {measured[-1][1].consumed.rate:,.0f} events/s")
    report(case, measured)
    check(case, measured)
    return measured


def measure(side: Side, setting: Setting) -> Outcome:
    """Measure one side in this process, with its share of the events; Spark sides use the active session."""
    warm, events, batch = (int(size * side.share) for size in (setting.warm, setting.events, setting.batch))
    return side.run(replace(setting, warm=warm, events=events, batch=batch))


def check(case: Measurable, measured: list[tuple[str, Outcome]]) -> None:
    """Raise an error if the counted results of the sides differ."""
    counts = {name: outcome.results for name, outcome in measured if outcome.results is not None}
    if len(set(counts.values())) > 1:
        raise RuntimeError(f"{case.name}: the sides produced different results: {counts}")


def report(case: Measurable, measured: list[tuple[str, Outcome]], benchmark: str = "connectors") -> None:
    """Print a table, and write it as JSON to `benchmarks/results`."""
    from benchmarks import harness

    ours = next(outcome.consumed.rate for name, outcome in measured if name == "Headrace")
    table = Table(title=case.title)
    for heading in ("side", "events", "seconds", "events/s", "Headrace is", "target"):
        table.add_column(heading, justify="left" if heading == "side" else "right")
    for name, outcome in measured:
        aim = case.side(name).aim
        times = f"{ours / outcome.consumed.rate:.2f} times"
        cells = (
            f"{outcome.consumed.events:,}",
            f"{outcome.consumed.seconds:.2f}",
            f"{outcome.consumed.rate:,.0f}",
        )
        table.add_row(name, *cells, times if name != "Headrace" else "", f"{aim:g}" if aim else "")
    Console().print(table)
    harness.RESULTS.mkdir(exist_ok=True)
    plain = {name: asdict(outcome) for name, outcome in measured}
    (harness.RESULTS / f"{benchmark}_{case.name}.json").write_text(json.dumps(plain, indent=2))


def _in_this_process(chosen: argparse.Namespace) -> None:
    """Measure one side in a child process; print the outcome as the last line."""
    from benchmarks.connectors.cases import CASES
    from benchmarks.connectors.setting import Setting
    from benchmarks.engines.flink import LOCK
    from headrace.spark.jars import fetch
    from headrace.spark.session import open_session

    name, servers, topic, database = chosen.side
    side = next(case for case in CASES if case.name in chosen.case).side(name)
    spark = None
    if "Flink" not in name:
        jars = [*fetch("kafka"), *fetch("postgres-jdbc", lock=LOCK)]
        conf = {"spark.driver.memory": chosen.memory}
        spark = open_session("bench-connectors", master="local[2]", conf=conf, jars=jars)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place:
        setting = Setting(servers, topic, chosen.warm, chosen.events, chosen.batch, Path(place), database)
        outcome = measure(side, setting)
    if spark is not None:
        spark.stop()
    print(json.dumps(asdict(outcome)), flush=True)


def read_outcome(message: str) -> Outcome:
    from benchmarks.connectors.setting import Outcome

    outcome = json.loads(message.strip().splitlines()[-1])
    return Outcome(Consumed(**outcome["consumed"]), outcome["results"])


def _options(names: list[str]) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks connectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--case", action="append", choices=names, help="only this case; repeatable")
    options.add_argument(
        "--beside", action="append", metavar="SIDE", help="Headrace and this side only; repeatable"
    )
    options.add_argument("--warm", type=int, default=2_000_000, help="warm-up events")
    options.add_argument("--events", type=int, default=10_000_000, help="measured events")
    options.add_argument("--batch", type=int, default=1_000_000, help="events per micro-batch")
    options.add_argument("--keys", type=int, default=10_000)
    options.add_argument("--memory", default="2g", help="heap of Spark's driver; Flink has 2g")
    options.add_argument(
        "--kept", type=Path, default=Path("build/benchmarks/kafka"), help="directory of the topics"
    )
    options.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    chosen.case = chosen.case or names
    return chosen
