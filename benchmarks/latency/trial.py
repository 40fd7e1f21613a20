"""One trial: a pipeline in its own process, fed at a steady rate after its first result."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.latency.figures import Latency, Row, Shares, pauses, split_by_pause
from benchmarks.latency.pipelines import Kind, build, flink, line, record
from headrace.devtools.kafka_client import Client
from headrace.durations import microseconds

BATCH = "batch"
"""A warm-up until a whole batch has ended, so that batch ends are warm too."""
LAST = "after all others"
"""The key of the records after all others; no other result contains this text."""
SETTLED = 10.0
"""Seconds between that batch and the measurement."""


@dataclass(frozen=True)
class TrialOptions:
    """Options of a trial."""

    rate: int
    """Records per second."""
    warm_up: float | None
    """Seconds before the measurement; None for one whole batch."""
    seconds: float
    batch: str = "1 minute"
    """Length of a real-time batch."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark settings."""


def round_up_to_batches(seconds: float, batch: str) -> float:
    """Round up to whole batches, so that batch ends have the weight they have in a long run."""
    length = microseconds(batch) / 1_000_000
    return math.ceil(seconds / length) * length


def run_trial(servers: str, place: Path, mode: str, kind: Kind, options: TrialOptions) -> Latency:
    """Run a trial and return its latencies."""
    client = Client(servers)
    name = "-".join([*mode.split(), kind, str(options.rate), str(time.time_ns() % 10**9)])
    for topic in ("in", "out", "late"):
        client.create(f"{name}-{topic}", partitions=2, settings={"message.timestamp.type": "LogAppendTime"})
    setting = json.dumps([servers, name, mode, kind, str(place), options.batch, dict(options.conf)])
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.latency", "--child", setting])
    try:
        _feed_until_answered(client, name, kind, process)
        feed = Feed(kind, options, place)
        client.produce(f"{name}-in", feed, linger_ms=0)
        _await_end(client, name, process)
    finally:
        process.terminate()
        process.wait()
    rows = _times(servers, f"{name}-out", feed.since)
    fed = _times(servers, f"{name}-in", feed.since)
    (place / "rows.json").write_text(json.dumps(rows))
    ends = commits(place) if mode == "real time" else []
    gaps = pauses(rows, [at for at in ends if feed.since <= at <= rows[-1][0]])
    between, met = split_by_pause(rows, gaps)
    lengths = tuple(end - begin for begin, end in gaps)
    return Latency(
        mode,
        kind,
        options.rate,
        feed.reached,
        Shares.of(rows),
        Shares.of(between),
        Shares.of(met),
        lengths,
        Shares.of(fed),
    )


def run_child(setting: str) -> None:
    """Run the pipeline of a trial in a child process until it is terminated."""
    servers, name, mode, kind, place, batch, conf = json.loads(setting)
    if mode == "Flink SQL":
        flink(servers, name, kind)
        return
    options: dict[str, Any] = {"master": "local[*]"}
    if mode == "real time":
        options = {"mode": "real_time", "every": batch}
    build(servers, name, kind).run(checkpoint=Path(place) / "checkpoint", conf=conf, **options)


def commits(place: Path) -> list[float]:
    """Return the commit times of Spark's batches in milliseconds since 1970."""
    files = place.glob("checkpoint/queries/*/spark/commits/[0-9]*")
    return sorted(path.stat().st_mtime * 1000 for path in files)


class Feed:
    """Records at a steady rate; `since` is the end of the warm-up."""

    def __init__(self, kind: Kind, options: TrialOptions, place: Path) -> None:
        self.since = float("inf")
        """Milliseconds since 1970."""
        self.reached = 0.0
        self._kind, self._options, self._place = kind, options, place

    def __iter__(self) -> Iterator[tuple[str, str]]:
        started = time.monotonic()
        end, warm, number = float("inf"), 0, 0
        while (now := time.monotonic()) < end:
            if number % self._options.rate == 0 and end == float("inf") and self._is_warm(now - started):
                end, warm, self.since = now + self._options.seconds, number, time.time() * 1000
            wait = started + number / self._options.rate - now
            if wait > 0:
                time.sleep(wait)
            yield line(number, self._kind)
            number += 1
        self.reached = round((number - warm) / self._options.seconds, 1)

    def _is_warm(self, passed: float) -> bool:
        if self._options.warm_up is not None:
            return passed >= self._options.warm_up
        whole = microseconds(self._options.batch) / 1000  # a run begins with short batches
        ends = [at for before, at in pairwise(commits(self._place)) if at - before >= whole]
        return bool(ends) and time.time() - ends[0] / 1000 >= SETTLED


def _feed_until_answered(
    client: Client, name: str, kind: Kind, process: subprocess.Popen[bytes], timeout: float = 300
) -> None:
    """Send records until the first result; the source starts at the latest offset and may miss some."""
    deadline = time.monotonic() + timeout
    for number in range(10**6):
        client.produce(f"{name}-in", [line(number, kind)])
        if any(True for _ in client.consume(f"{name}-out")):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name}: no result")
        time.sleep(0.5)


def _await_end(client: Client, name: str, process: subprocess.Popen[bytes], timeout: float = 300) -> None:
    """Send records with the last key and wait for their result, which follows all others."""
    last = [record(LAST, value) for value in (0, 91)]  # a pattern needs two
    for partition in client.require(f"{name}-in"):
        client.produce(f"{name}-in", last, partition=partition)
    deadline = time.monotonic() + timeout
    while not any(
        f'"{LAST}"' in str(result.value) for result in client.consume(f"{name}-out", start="-1000")
    ):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name}: no result for the last record")
        time.sleep(0.5)


def _times(servers: str, topic: str, since: float) -> list[Row]:
    """Return the times of sending and writing of each record after the warm-up, in order of writing."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": topic,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    partitions = consumer.list_topics(topic).topics[topic].partitions
    begin = [confluent_kafka.TopicPartition(topic, number, round(since)) for number in partitions]
    consumer.assign(consumer.offsets_for_times(begin, timeout=10))
    rows, open_ends = [], len(partitions)
    while open_ends:
        for message in consumer.consume(10_000, timeout=1):
            if (error := message.error()) is not None:
                open_ends -= error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                continue
            result = json.loads(message.value() or b"")
            if result["sent"] >= since and result["k"] != LAST:
                rows.append((result["sent"], message.timestamp()[1]))
    consumer.close()
    if not rows:
        raise SystemExit(f"{topic} has no record after the warm-up")
    return sorted(rows, key=lambda row: row[1])
