"""Patterns: a login, then a payment over 90 of the same card within 60 seconds, asked of several engines.

Each engine reads the same topic of JSON events, on 2 cores, in a process of its own: it warms up on the first
events and is measured on those after them, in the same run. Flink and Headrace count an event when its
source, or its micro-batch, is through with it; Pathway when the minibatch is through that has its answers,
which must be every pair.

    python -m benchmarks patterns
    python -m benchmarks patterns --engine headrace --engine flink-match --warm 500000 --events 1000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.patterns.engines import ENGINES, Given, Result
from benchmarks.patterns.events import CardEvents
from benchmarks.topics import fill, kafka

KEPT = Path("build/benchmarks/kafka")
AIMS = {"flink-match": 3.0, "flink-join": 1.0, "pathway": 1.0, "python-rows": 5.0, "python-pandas": 5.0}
"""So many times as fast as these Headrace is to be."""


def main() -> None:
    """All engines in turn, as a table and as JSON in benchmarks/results."""
    setting = _arguments()
    if setting.child:
        engine, servers, topic, warm, events, epoch = setting.child
        asked = Given(servers, topic, int(warm), int(events), int(epoch))
        print(json.dumps(asdict(ENGINES[engine][1](asked))), flush=True)
        return
    with kafka(setting.kept) as servers:
        topic = fill(servers, CardEvents(setting.warm + setting.events, setting.cards))
        asked = Given(servers, topic, setting.warm, setting.events, setting.epoch)
        ran = [measured(engine, asked) for engine in setting.engine or ENGINES]
        report([result for result in ran if result is not None])


def measured(engine: str, setting: Given) -> Result | None:
    """An engine in a process of its own; None if it failed, which must not cost what the others did."""
    numbers = [str(number) for number in (setting.warm, setting.events, setting.epoch)]
    command = [sys.executable, "-m", "benchmarks.patterns", "--child", engine, setting.servers, setting.topic]
    done = subprocess.run([*command, *numbers], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        Console().print(f"{ENGINES[engine][0]}: failed, see above")
        return None
    result = Result(**json.loads(done.stdout.splitlines()[-1]))
    Console().print(f"{ENGINES[engine][0]}: {result.rate:,.0f} events/s, {result}")
    return result


def report(results: list[Result]) -> None:
    """Print the table; write it to `benchmarks/results/patterns.json`."""
    ours = next((result for result in results if result.engine == "headrace"), None)
    table = Table(title="login, then pay > 90 within 60 s")
    for heading in ("engine", "events/s", "seconds", "CPU s", "answers", "Headrace is", "by CPU", "aim"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for item in results:
        times = by_cpu = ""
        if ours and item is not ours:
            times = f"{ours.rate / item.rate:.2f} times"
            by_cpu = f"{item.cpu / ours.cpu:.2f} times" if item.cpu and ours.cpu else ""
        aim = f"{AIMS[item.engine]:g} times" if item.engine in AIMS else ""
        answers = "" if item.answers is None else f"{item.answers:,}"
        cpu = "" if item.cpu is None else f"{item.cpu:.1f}"
        table.add_row(
            ENGINES[item.engine][0],
            *(f"{item.rate:,.0f}", f"{item.seconds:.1f}", cpu, answers, times, by_cpu, aim),
        )
    Console().print(table)
    harness.RESULTS.mkdir(exist_ok=True)
    (harness.RESULTS / "patterns.json").write_text(
        json.dumps([{**asdict(item), "rate": item.rate} for item in results], indent=2)
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="only these")
    parser.add_argument("--warm", type=int, default=2_000_000, help="events of the warm-up")
    parser.add_argument("--events", type=int, default=10_000_000, help="events that are measured")
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument("--epoch", type=int, default=1_000_000, help="events in a micro-batch on Spark")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where the topics are kept for the next time")
    parser.add_argument("--child", nargs=6, help=argparse.SUPPRESS)
    return parser.parse_args()
