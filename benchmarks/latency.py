"""Latency from Kafka to Kafka: how long after a record was produced its result is in the topic.

For each rate, in one run: real time beside micro-batches and Flink SQL, without state (a filter) and with it: a window
that fires on every row (in Flink, whose windows fire once, a running aggregate per key and hour), and a pattern of two rows in
arrival order, which every second row completes (not in Flink, which has no such order in SQL). A result carries when its record
was produced; the topic of results notes when it was appended.

    python -m benchmarks latency
    python -m benchmarks latency --rates 1000 --seconds 60 --modes "real time" "Flink SQL"
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from benchmarks.engines.flink import Flink, kafka_table
from benchmarks.harness import RESULTS
from headrace import Pipeline, connect, patterns, triggers, windows
from headrace.connectors.kafka.client import Client
from headrace.engine import kafka_server

Kind = Literal["stateless", "windows", "patterns"]
MODES = ("real time", "micro-batch", "Flink SQL")
AIMS = {"stateless": (2, 10), "windows": (5, 25), "patterns": (5, 25)}
"""Milliseconds of p50 and p99 that real time is to stay below at 1,000 events/s."""
KEYS = 100


@dataclass(frozen=True)
class Latency:
    """Milliseconds from produced to written, over all results of one trial."""

    mode: str
    kind: str
    rate: int
    results: int
    p50: float
    p95: float
    p99: float
    max: float


def build(servers: str, name: str, kind: Kind) -> Pipeline:
    """The pipeline under test, over the topics of a name."""
    pipeline = Pipeline(name)
    source = connect.kafka(servers=servers, topic=f"{name}-in", start="latest")
    rows = pipeline.read(
        "tx", source, format="json", schema="k string, v int, sent bigint", on_error="skip"
    ).with_columns(ts="timestamp_millis(sent)")
    out = connect.kafka(servers=servers, topic=f"{name}-out", key="k")
    if kind == "stateless":
        rows.where("v >= 0").write("out", out)
        return pipeline
    if kind == "patterns":
        pair = patterns.step("login", "v = 0").followed_by("pay", "v > 90")
        found = (
            rows.event_time("ts")
            .key_by("k")
            .match(
                "pairs", pair, within="60 seconds", order="arrival", select={"sent": "pay.sent", "v": "pay.v"}
            )
        )
        found.write("out", out)
        # In real time every output has a topic: what no sink takes is otherwise kept in files.
        found.late.write("late", connect.kafka(servers=servers, topic=f"{name}-late"))
        found.timeouts.write("timeouts", connect.kafka(servers=servers, topic=f"{name}-late"))
        return pipeline
    windowed = rows.event_time("ts").key_by("k").window(windows.tumbling("1 hour"))
    totals = windowed.emit(early=triggers.after_count(1)).aggregate("totals", n="count(*)", sent="max(sent)")
    totals.write("out", out)
    totals.late.write("late", connect.kafka(servers=servers, topic=f"{name}-late"))
    return pipeline


def trial(servers: str, mode: str, kind: Kind, rate: int, *, warm_up: float, seconds: float) -> Latency:
    """One pipeline in a process of its own, fed at a steady rate once it answers."""
    client = Client(servers)
    name = "-".join([*mode.split(), kind, str(rate), str(time.time_ns() % 10**9)])
    for topic in ("in", "out", "late"):
        client.create(f"{name}-{topic}", partitions=2, settings={"message.timestamp.type": "LogAppendTime"})
    with tempfile.TemporaryDirectory(prefix="headrace-latency-") as place:
        command = [sys.executable, "-m", "benchmarks.latency", "--child", servers, name, mode, kind, place]
        process = subprocess.Popen(command)
        try:
            _feed_until_answered(client, name, kind, process)
            begun = _feed(client, name, kind, rate, warm_up + seconds)
            _await_end(client, name, process)
        finally:
            process.terminate()
            process.wait()
    times = _measured(client, name, begun + warm_up)
    shares = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.95, 0.99, 1.0)]
    found = Latency(mode, kind, rate, len(times), *shares)
    Console().print(found)
    return found


def main() -> None:
    """All trials, as a table and as JSON in benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument(
        "--warm-up", type=float, default=60, help="seconds that don't count: JVMs compile as they go"
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kinds", nargs="+", default=["stateless", "windows", "patterns"])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(*given.child)
        return
    with tempfile.TemporaryDirectory(prefix="headrace-latency-") as place:
        cluster = kafka_server.start(Path(place), port=0)
        try:
            found = [
                trial(cluster.servers, mode, kind, rate, warm_up=given.warm_up, seconds=given.seconds)
                for rate in given.rates
                for kind in given.kinds
                for mode in given.modes
                if (mode, kind) != ("Flink SQL", "patterns")
            ]
        finally:
            cluster.stop()
    _report(found)


def _child(servers: str, name: str, mode: str, kind: Kind, place: str) -> None:
    if mode == "Flink SQL":
        _flink(servers, name, kind)
        return
    options: dict[str, Any] = {"real_time": True} if mode == "real time" else {"master": "local[*]"}
    build(servers, name, kind).run(checkpoint=Path(place) / "checkpoint", **options)


def _flink(servers: str, name: str, kind: Kind) -> None:
    """The same as Flink SQL, until this process is ended: no checkpoints, no waiting for batches to fill."""
    columns = "k string, v int, sent bigint"
    latest = {"scan.startup.mode": "latest-offset"}
    with Flink(checkpoints=None, settings={"execution.buffer-timeout.interval": "0 ms"}) as flink:
        flink.sql(kafka_table("tx", columns, servers, f"{name}-in", options=latest))
        if kind == "stateless":
            flink.sql(kafka_table("results", columns, servers, f"{name}-out"))
            query = "select k, v, sent from tx where v >= 0"
        else:
            keyed = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
            flink.sql(
                kafka_table(
                    "results",
                    "k string, hour_ bigint, n bigint, sent bigint, primary key (k, hour_) not enforced",
                    servers,
                    f"{name}-out",
                    options=keyed,
                )
            )
            query = "select k, sent / 3600000, count(*), max(sent) from tx group by k, sent / 3600000"
        job = flink.start(f"insert into results {query}")
        job.getJobExecutionResult().get()


def _line(number: int, kind: str) -> tuple[str, str]:
    """A record; for a pattern every second one, of the same key, completes what the one before began."""
    if kind == "patterns":
        return _record(f"k{number // 2 % KEYS}", 91 if number % 2 else 0)
    return _record(f"k{number % KEYS}", number)


def _record(key: str, value: int, sent: int | None = None) -> tuple[str, str]:
    now = time.time_ns() // 1_000_000 if sent is None else sent
    return key, json.dumps({"k": key, "v": value, "sent": now})


def _feed_until_answered(
    client: Client, name: str, kind: str, process: subprocess.Popen[bytes], patience: float = 300
) -> None:
    """Send a record now and then until a result is there: it starts at the latest, so the first ones may be missed."""
    deadline = time.monotonic() + patience
    for number in range(10**6):
        client.produce(f"{name}-in", [_line(number, kind)])
        if any(True for _ in client.consume(f"{name}-out")):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name} gave no result")
        time.sleep(0.5)


def _feed(client: Client, name: str, kind: str, rate: int, seconds: float) -> float:
    """Send at a steady rate; returns when it began, in seconds since 1970."""
    begun, clock = time.time(), time.monotonic()

    def paced() -> Any:
        for number in range(round(rate * seconds)):
            wait = clock + number / rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            yield _line(number, kind)

    client.produce(f"{name}-in", paced(), linger_ms=0)
    return begun


def _await_end(client: Client, name: str, process: subprocess.Popen[bytes], patience: float = 300) -> None:
    """Send more records, of a key of its own, and wait for a result of it: then all others are there."""
    last = [_record("end", value, sent=0) for value in (0, 91)]  # a pattern needs two
    for partition in client.require(f"{name}-in"):
        client.produce(f"{name}-in", last, partition=partition)
    deadline = time.monotonic() + patience
    while not any('"end"' in str(record.value) for record in client.consume(f"{name}-out", start="-1000")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name} gave no result for the last record")
        time.sleep(0.5)


def _measured(client: Client, name: str, since: float) -> list[float]:
    """The latencies of all results after the warm-up, sorted."""
    times = []
    for record in client.consume(f"{name}-out"):
        sent = json.loads(str(record.value))["sent"]
        if sent >= since * 1000 and record.timestamp is not None:
            times.append(_millis(record.timestamp) - sent)
    if not times:
        raise SystemExit(f"{name} gave no result after it was warm")
    return sorted(times)


def _millis(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp() * 1000


def _report(found: list[Latency]) -> None:
    table = Table(title="latency, milliseconds from produced to written")
    for heading in ("mode", "steps", "events/s", "results", "p50", "p95", "p99", "max"):
        table.add_column(heading, justify="left" if heading in ("mode", "steps") else "right")
    for one in found:
        shown = (one.rate, one.results, *(f"{value:.1f}" for value in (one.p50, one.p95, one.p99, one.max)))
        table.add_row(one.mode, one.kind, *map(str, shown))
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency.json").write_text(json.dumps([asdict(one) for one in found], indent=2))


if __name__ == "__main__":
    main()
