"""One trial: a pipeline in a process of its own, fed at a steady rate once it answers."""

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

from benchmarks.latency.figures import Latency, Row, Shares, pauses, told_apart
from benchmarks.latency.pipelines import Kind, build, flink, line, record
from headrace.devtools.kafka_client import Client
from headrace.durations import microseconds

BATCH = "batch"
"""The warm-up that lasts until a whole batch has ended, so that its end is warm as well."""
LAST = "after all others"
"""The key of the records that come after all others: a text that no other result has in it, as panes have
`"end"`.
"""
SETTLED = 10.0
"""How many seconds after that batch what counts begins."""


@dataclass(frozen=True)
class Asked:
    """How a trial is run."""

    rate: int
    """Records per second."""
    warm_up: float | None
    """Seconds that don't count; None for one whole batch."""
    seconds: float
    batch: str = "1 minute"
    """How long a batch in real time is."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark."""


def whole(seconds: float, batch: str) -> float:
    """So many seconds, and what is missing to a whole number of batches.

    Each end then weighs what it does in a long run.
    """
    length = microseconds(batch) / 1_000_000
    return math.ceil(seconds / length) * length


def trial(servers: str, place: Path, mode: str, kind: Kind, asked: Asked) -> Latency:
    """Run one and measure it."""
    client = Client(servers)
    name = "-".join([*mode.split(), kind, str(asked.rate), str(time.time_ns() % 10**9)])
    for topic in ("in", "out", "late"):
        client.create(f"{name}-{topic}", partitions=2, settings={"message.timestamp.type": "LogAppendTime"})
    setting = json.dumps([servers, name, mode, kind, str(place), asked.batch, dict(asked.conf)])
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.latency", "--child", setting])
    try:
        _feed_until_answered(client, name, kind, process)
        feed = Feed(kind, asked, place)
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
    between, met = told_apart(rows, gaps)
    lengths = tuple(end - begin for begin, end in gaps)
    return Latency(
        mode,
        kind,
        asked.rate,
        feed.reached,
        Shares.of(rows),
        Shares.of(between),
        Shares.of(met),
        lengths,
        Shares.of(fed),
    )


def child(setting: str) -> None:
    """What the process of a trial runs, until it is ended."""
    servers, name, mode, kind, place, batch, conf = json.loads(setting)
    if mode == "Flink SQL":
        flink(servers, name, kind)
        return
    options: dict[str, Any] = {"master": "local[*]"}
    if mode == "real time":
        options = {"real_time": True, "every": batch}
    build(servers, name, kind).run(checkpoint=Path(place) / "checkpoint", conf=conf, **options)


def commits(place: Path) -> list[float]:
    """When Spark noted each batch as done, in milliseconds since 1970."""
    measured = place.glob("checkpoint/queries/*/spark/commits/[0-9]*")
    return sorted(path.stat().st_mtime * 1000 for path in measured)


class Feed:
    """Records at a steady rate, warm-up first; knows afterwards since when they count."""

    def __init__(self, kind: Kind, asked: Asked, place: Path) -> None:
        self.since = float("inf")
        """Milliseconds since 1970."""
        self.reached = 0.0
        self._kind, self._asked, self._place = kind, asked, place

    def __iter__(self) -> Iterator[tuple[str, str]]:
        begun = time.monotonic()
        end, warm, number = float("inf"), 0, 0
        while (now := time.monotonic()) < end:
            if number % self._asked.rate == 0 and end == float("inf") and self._is_warm(now - begun):
                end, warm, self.since = now + self._asked.seconds, number, time.time() * 1000
            wait = begun + number / self._asked.rate - now
            if wait > 0:
                time.sleep(wait)
            yield line(number, self._kind)
            number += 1
        self.reached = round((number - warm) / self._asked.seconds, 1)

    def _is_warm(self, passed: float) -> bool:
        if self._asked.warm_up is not None:
            return passed >= self._asked.warm_up
        whole = microseconds(self._asked.batch) / 1000  # a run begins with short ones
        ends = [at for before, at in pairwise(commits(self._place)) if at - before >= whole]
        return bool(ends) and time.time() - ends[0] / 1000 >= SETTLED


def _feed_until_answered(
    client: Client, name: str, kind: Kind, process: subprocess.Popen[bytes], patience: float = 300
) -> None:
    """Send a record now and then until a result is there.

    It starts at the latest, so the first ones may be missed.
    """
    deadline = time.monotonic() + patience
    for number in range(10**6):
        client.produce(f"{name}-in", [line(number, kind)])
        if any(True for _ in client.consume(f"{name}-out")):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name} gave no result")
        time.sleep(0.5)


def _await_end(client: Client, name: str, process: subprocess.Popen[bytes], patience: float = 300) -> None:
    """Send more records, of a key of its own, and wait for a result of it: then all others are there."""
    last = [record(LAST, value) for value in (0, 91)]  # a pattern needs two
    for partition in client.require(f"{name}-in"):
        client.produce(f"{name}-in", last, partition=partition)
    deadline = time.monotonic() + patience
    while not any(
        f'"{LAST}"' in str(measured.value) for measured in client.consume(f"{name}-out", start="-1000")
    ):
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name} gave no result for the last record")
        time.sleep(0.5)


def _times(servers: str, topic: str, since: float) -> list[Row]:
    """When each record after the warm-up was sent and written to a topic, in order of writing."""
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
