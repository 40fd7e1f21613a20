"""Latency from Kafka to Kafka: the time from producing a record to its result in the output topic.

Compares real-time mode with micro-batches and Flink SQL at several rates: a filter; a window that fires on every
row (in Flink, whose windows fire once, a running aggregate per key and hour); and a pattern of two rows in
arrival order (not in Flink SQL, which has no such order). A result carries the time its record was produced; the
output topic uses LogAppendTime. Real-time mode is measured over whole batches, so that the ends of batches
have the weight they have in a long run.

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
from benchmarks.latency.trial import BATCH, TrialOptions, round_up_to_batches, run_child, run_trial
from headrace.devtools import kafka_server

MODES = ("real time", "micro-batch", "Flink SQL")
AIMS = {"stateless": (2, 10), "windows": (5, 25), "patterns": (5, 25)}
"""Targets of real-time mode at 1,000 events/s: p50 and p99 in milliseconds."""


def main() -> None:
    """Run all trials; print a table and write JSON to `benchmarks/results`."""
    setting = _arguments()
    if setting.child:
        run_child(setting.child)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stop the broker too
    options = TrialOptions(
        0,
        None if setting.warm_up == BATCH else float(setting.warm_up),
        setting.seconds,
        setting.batch,
        dict(pair.split("=", 1) for pair in setting.conf),
    )
    measured = []
    with _open_directory(setting.keep) as place:
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
                            round_up_to_batches(setting.seconds, setting.batch)
                            if mode == "real time"
                            else setting.seconds
                        )
                        how = replace(options, rate=rate, seconds=seconds)
                        measured.append(run_trial(cluster.servers, own, mode, kind, how))
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
        help=f"seconds before the measurement, while the JVM compiles; `{BATCH}`: until a whole batch has ended "
        "(real time only)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="measured seconds; rounded up to whole batches in real time",
    )
    parser.add_argument("--batch", default="1 minute", help="length of a real-time batch")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--conf", nargs="+", default=[], help="Spark settings: spark.a=b")
    parser.add_argument(
        "--keep", type=Path, help="keep checkpoints, logs and the times of all rows in this directory"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def _open_directory(directory: Path | None) -> Iterator[Path]:
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
        table.add_row(item.mode, item.kind, "all", f"{item.reached:,.0f}", *_format_shares(item.all), pauses)
        if item.pauses:
            table.add_row("", "", "between batch ends", "", *_format_shares(item.between))
            table.add_row("", "", "at a batch end", "", *_format_shares(item.met))
        table.add_row("", "", "producer and broker only", "", *_format_shares(item.fed))
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency.json").write_text(json.dumps([asdict(item) for item in measured], indent=2))


def _format_shares(shares: Shares) -> list[str]:
    return [
        f"{shares.results:,}",
        *(f"{value:.0f}" for value in (shares.p50, shares.p95, shares.p99, shares.max)),
    ]
