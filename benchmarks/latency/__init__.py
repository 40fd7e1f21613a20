"""Latency from Kafka to Kafka: how long after a record was produced its result is in the topic.

For each rate, in one run: real time beside micro-batches and Flink SQL, without state (a filter) and with it:
a window that fires on every row (in Flink, whose windows fire once, a running aggregate per key and hour),
and a pattern of two rows in arrival order, which every second row completes (not in Flink, which has no such
order in SQL). A result carries when its record was produced; the topic of results notes when it was appended.
Real time is measured over whole batches: over a minute and a quarter with two ends of batches of a minute,
one of them would be counted for a time that isn't there.

    python -m benchmarks latency                                                       # an hour
    python -m benchmarks latency --rates 1000 --modes "real time" --seconds 120
    python -m benchmarks latency --kinds stateless windows --batch "20 seconds" --warm-up 30 --seconds 20
    # 20 minutes
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import RESULTS
from benchmarks.latency.figures import Latency, Shares
from benchmarks.latency.pipelines import KINDS
from benchmarks.latency.trial import BATCH, Asked, child, trial, whole
from headrace.devtools import kafka_server

MODES = ("real time", "micro-batch", "Flink SQL")
AIMS = {"stateless": (2, 10), "windows": (5, 25), "patterns": (5, 25)}
"""Milliseconds of p50 and p99 that real time is to stay below at 1,000 events/s."""


def main() -> None:
    """All trials, as a table and as JSON in benchmarks/results."""
    setting = _arguments()
    if setting.child:
        child(setting.child)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the broker ends as well
    asked = Asked(
        0,
        None if setting.warm_up == BATCH else float(setting.warm_up),
        setting.seconds,
        setting.batch,
        dict(pair.split("=", 1) for pair in setting.conf),
    )
    measured = []
    with _kept(setting.keep) as place:
        cluster = kafka_server.start(place / "kafka", port=0)
        try:
            for rate in setting.rates:
                for kind in setting.kinds:
                    for mode in setting.modes:
                        if (mode, kind) == ("Flink SQL", "patterns"):
                            continue
                        own = place / f"{mode.replace(' ', '-')}-{kind}-{rate}"
                        own.mkdir()
                        seconds = (
                            whole(setting.seconds, setting.batch) if mode == "real time" else setting.seconds
                        )
                        how = replace(asked, rate=rate, seconds=seconds)
                        measured.append(trial(cluster.servers, own, mode, kind, how))
                        Console().print(measured[-1])
        finally:
            cluster.stop()
    _report(measured)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument(
        "--warm-up",
        default="60",
        help=f"seconds that don't count, since JVMs compile as they go; `{BATCH}`: until a whole batch has "
        "ended (for real time only: others have none)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="how long is measured; in real time whole batches, so perhaps longer",
    )
    parser.add_argument("--batch", default="1 minute", help="how long a batch in real time is")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--conf", nargs="+", default=[], help="settings of Spark: spark.a=b")
    parser.add_argument(
        "--keep", type=Path, help="leave checkpoints, logs and every row's times in this directory"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def _kept(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        directory.mkdir(parents=True)
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="headrace-latency-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def _report(measured: list[Latency]) -> None:
    table = Table(title="latency, milliseconds from produced to written")
    left = ("mode", "steps", "rows")
    for heading in (*left, "events/s", "results", "p50", "p95", "p99", "max", "pauses"):
        table.add_column(heading, justify="left" if heading in left else "right")
    for item in measured:
        pauses = ", ".join(map(str, item.pauses))
        table.add_row(item.mode, item.kind, "all", f"{item.reached:,.0f}", *_shown(item.all), pauses)
        if item.pauses:
            table.add_row("", "", "between ends of batches", "", *_shown(item.between))
            table.add_row("", "", "that met one", "", *_shown(item.met))
        table.add_row("", "", "of it until in the input's topic", "", *_shown(item.fed))
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency.json").write_text(json.dumps([asdict(item) for item in measured], indent=2))


def _shown(shares: Shares) -> list[str]:
    return [
        f"{shares.results:,}",
        *(f"{value:.0f}" for value in (shares.p50, shares.p95, shares.p99, shares.max)),
    ]
