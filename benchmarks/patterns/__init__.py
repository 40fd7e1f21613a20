"""A pattern on several engines: a login, then a payment over 90 with the same card within 60 seconds.

Each engine reads the same topic of JSON events on 2 cores in its own process, warms up on the first events and
is measured on the next ones of the same run. An event counts when Flink's source has read it, when its Spark
micro-batch has ended, and when its Pathway minibatch has ended; Pathway must emit every pair.

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
from benchmarks.patterns.engines import ENGINES, Result, Settings
from benchmarks.patterns.events import CardEvents
from benchmarks.topics import fill, kafka

KEPT = Path("build/benchmarks/kafka")
AIMS = {"flink-match": 3.0, "flink-join": 1.0, "pathway": 1.0, "python-rows": 5.0, "python-pandas": 5.0}
"""Targets for the ratio of Headrace's rate to the engine's."""


def main() -> None:
    """Measure all engines; print a table and write JSON to `benchmarks/results`."""
    setting = _arguments()
    if setting.child:
        engine, servers, topic, warm, events, epoch = setting.child
        settings = Settings(servers, topic, int(warm), int(events), int(epoch))
        print(json.dumps(asdict(ENGINES[engine][1](settings))), flush=True)
        return
    with kafka(setting.kept) as servers:
        topic = fill(servers, CardEvents(setting.warm + setting.events, setting.cards))
        settings = Settings(servers, topic, setting.warm, setting.events, setting.epoch)
        ran = [measure_engine(engine, settings) for engine in setting.engine or ENGINES]
        report([result for result in ran if result is not None])


def measure_engine(engine: str, setting: Settings) -> Result | None:
    """Measure an engine in a child process; return None if it failed, so that others still run."""
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
    for heading in ("engine", "events/s", "seconds", "CPU s", "matches", "Headrace is", "by CPU", "target"):
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
    parser.add_argument("--warm", type=int, default=2_000_000, help="warm-up events")
    parser.add_argument("--events", type=int, default=10_000_000, help="measured events")
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument("--epoch", type=int, default=1_000_000, help="events per Spark micro-batch")
    parser.add_argument("--kept", type=Path, default=KEPT, help="directory of the topics")
    parser.add_argument("--child", nargs=6, help=argparse.SUPPRESS)
    return parser.parse_args()
