"""The queries of the Nexmark benchmark in SQL, beside Flink SQL and PySpark; JSON from Kafka, in one run.

    python -m benchmarks nexmark                                                # all queries and engines; hours
    python -m benchmarks nexmark --query q5 --engine headrace --engine flink-heap --events 500000
    python -m benchmarks nexmark --query four --against DIR     # alternates with the code of another worktree

Each query runs on each engine in a process of its own, over the same bounded topics `person`, `auction` and
`bid`, from their beginning to their end: `--warm` times for the JIT compilers, then `--runs` times measured.
Before that, all engines run it over `--compared` events, and the benchmark stops if their final rows differ.
A run includes the start of the job; rates are by CPU time of all processes of the engine (events/s/core), and
by the clock. The CPU time of the JIT compilers in the measured runs is reported beside them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.nexmark.against import compare_worktrees, serve_runs
from benchmarks.nexmark.engines import ENGINES, Outcome, Setting
from benchmarks.nexmark.queries import QUERIES, difference
from benchmarks.nexmark.report import print_summary, write_results


def main() -> None:
    """Measure the chosen queries on the chosen engines and print a table."""
    options = _options()
    if options.side:
        _run_side(options)
        return
    from benchmarks import topics

    outcomes: dict[str, dict[str, Outcome]] = {}
    with topics.kafka(options.kept) as servers, Progress(transient=True) as progress:
        if options.against:
            fill(servers, options.events)
            for query in options.query:
                compare_worktrees(servers, query, options)
            return
        for events in (options.compared, options.events):
            fill(servers, events)
        task = progress.add_task("nexmark", total=len(options.query) * len(options.engine))
        for query in options.query:
            outcomes[query] = {}
            for engine in options.engine:
                progress.update(task, description=f"{query} on {engine}")
                if (outcome := _measure(servers, query, engine, options)) is not None:
                    outcomes[query][engine] = outcome
                progress.advance(task)
            _compare(query, outcomes[query])
    print_summary(outcomes, options.engine, options.events)
    write_results(outcomes, options.events)


def fill(servers: str, events: int) -> None:
    """Fill the topics with the first events, unless they are filled."""
    from headrace.connectors.nexmark.events import TABLES, rows_among
    from headrace.devtools.kafka_client import Client

    prefix = topic_prefix(events)
    held = {topic.name: topic.records for topic in Client(servers).topics()}
    wanted = {f"{prefix}{table}": rows_among(events, shape) for table, shape in TABLES.items()}
    if all(held.get(topic) == count for topic, count in wanted.items()):
        return
    for topic in wanted.keys() & held.keys():
        Client(servers).delete(topic)
    command = [str(Path(sys.executable).with_name("headrace")), "kafka", "nexmark", "--json"]
    command += ["--events", str(events), "--prefix", prefix, "--partitions", "2", "--servers", servers]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def topic_prefix(events: int) -> str:
    """Return the text before the names of the topics with so many events."""
    return f"nexmark-ordered-{events}-"


def _measure(servers: str, query: str, engine: str, options: argparse.Namespace) -> Outcome | None:
    """Run one query on one engine in another process; None if the engine does not have the query."""
    command = [sys.executable, "-m", "benchmarks", "nexmark", "--side", servers, query, engine]
    for name in ("events", "compared", "batch", "warm", "runs"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--memory", options.memory]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    outcome = Outcome(**json.loads(output.strip().splitlines()[-1]))
    if outcome.problem:
        Console().print(f"{query}: {engine} cannot run it: {outcome.problem}", highlight=False)
        return None
    rate = f"{outcome.per_core(options.events):,.0f} events/s/core"
    Console().print(f"{query}: {engine}: {rate}, JIT {outcome.jit_share:.0%}", highlight=False)
    return outcome


def _compare(query: str, outcomes: dict[str, Outcome]) -> None:
    """Compare the final rows of the engines with those of the first.

    Raises:
        RuntimeError: two engines produced different rows.
    """
    if not QUERIES[query].deterministic or len(outcomes) < 2:
        return
    (first, expected), *others = outcomes.items()
    for engine, outcome in others:
        if text := difference(Counter(expected.rows), Counter(outcome.rows)):
            raise RuntimeError(f"{query}: {first} and {engine} produced different rows: {text}")


def _run_side(options: argparse.Namespace) -> None:
    """Run one query on one engine in this process; the last line of the output is the outcome."""
    servers, query, engine = options.side
    setting = Setting(servers, query, options.batch, options.memory)
    if options.serve:
        serve_runs(setting, options.events)
        return
    outcome = ENGINES[engine](setting).measure(options.compared, options.events, options.warm, options.runs)
    sys.stdout.write(json.dumps(outcome.__dict__) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks nexmark",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--query", action="append", choices=list(QUERIES), help="a query; repeatable")
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="an engine; repeatable")
    parser.add_argument("--events", type=int, default=2_000_000, help="events of a run")
    parser.add_argument("--compared", type=int, default=20_000, help="events whose results are compared")
    parser.add_argument("--batch", type=int, default=500_000, help="events of one micro-batch")
    parser.add_argument("--warm", type=int, default=4, help="runs before the measured ones")
    parser.add_argument("--runs", type=int, default=3, help="measured runs")
    parser.add_argument("--memory", default="2g", help="heap of every engine")
    parser.add_argument("--kept", type=Path, default=Path("build/benchmarks/kafka"), help="where topics stay")
    parser.add_argument("--against", type=Path, help="a worktree with other code, its kernel compiled")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.query = options.query or list(QUERIES)
    options.engine = options.engine or list(ENGINES)
    return options
