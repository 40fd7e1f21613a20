"""Kafka topics with generated JSON events, stored for later runs: the input of all engines.

An event is `{"k": "k123", "v": 456, "ts": 1767225600123, "note": "..."}`: a key out of `keys`, a number below
1,000, a time in milliseconds that grows by one per event of a partition, and a text that no benchmark reads.
An event depends on its number and the seed only, so a topic can be generated again.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client

SCHEMA = "k string, v int, ts bigint, note string"
START = 1_767_225_600_000
"""The time of the first event: 2026-01-01."""
PARTITIONS = 2
_NOTES = ("paid at the counter", "online", "by telephone, to be confirmed", "returned")


class TopicContent(Protocol):
    """Generated events of a topic; `numbers` are the constructor arguments for the process of a partition."""

    @property
    def count(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def numbers(self) -> tuple[int, ...]: ...
    def lines(self, partition: int) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Events:
    """Events with random keys and values, determined by the seed."""

    count: int
    keys: int = 10_000
    seed: int = 1

    @property
    def topic(self) -> str:
        return f"events-{self.count}-{self.keys}-{self.seed}"

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.count, self.keys, self.seed

    def lines(self, partition: int, partitions: int = PARTITIONS) -> Iterator[bytes]:
        """Generate the events of one partition, every `partitions`th event, in order of time."""
        for number in range(partition, self.count, partitions):
            mixed = ((number + self.seed) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            mixed ^= mixed >> 29
            at = START + number // partitions
            text = _NOTES[mixed & 3]
            yield b'{"k":"k%d","v":%d,"ts":%d,"note":"%s"}' % (
                (mixed >> 8) % self.keys,
                (mixed >> 40) % 1_000,
                at,
                text.encode(),
            )


@contextmanager
def kafka(place: Path | None = None) -> Iterator[str]:
    """Run a Kafka broker for the block and yield its address; SIGTERM stops it too.

    Topics are stored in `place`, or in a temporary directory.
    """
    # The times of events are in 2026: disable retention by time.
    settings = {"log.retention.ms": "-1"}
    with (
        exit_on_sigterm(),
        tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as temporary,
    ):
        directory = (place or Path(temporary)).absolute()
        left_over = kafka_server.running_cluster(directory)  # by a killed benchmark
        cluster = left_over or kafka_server.start(directory, port=0, settings=settings)
        try:
            yield cluster.servers
        finally:
            cluster.stop()


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM in the block, so that `finally` clauses run."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fill(servers: str, events: TopicContent) -> str:
    """Fill the topic with these events, one process per partition, unless it is filled; return its name."""
    client = Client(servers)
    held = {topic.name: topic.records for topic in client.topics()}
    if held.get(events.topic) == events.count:
        return events.topic
    if events.topic in held:
        client.delete(events.topic)
    client.create(events.topic, partitions=PARTITIONS, settings={"compression.type": "producer"})
    content = type(events)
    sending = f"from {content.__module__} import {content.__name__} as Content; from benchmarks.topics import send; import sys; "
    sending += "send(sys.argv[1], int(sys.argv[2]), Content(*map(int, sys.argv[3:])))"
    numbers = [str(number) for number in events.numbers]
    filling = [
        subprocess.Popen([sys.executable, "-c", sending, servers, str(partition), *numbers])
        for partition in range(PARTITIONS)
    ]
    ended = [process.wait() for process in filling]  # wait for all, even if one failed
    if any(ended):
        raise SystemExit(f"the topic {events.topic} could not be filled")
    return events.topic


def create_empty_topic(servers: str, name: str, settings: dict[str, str] | None = None) -> str:
    """Create an empty topic with the number of partitions of event topics; return its name."""
    client = Client(servers)
    if any(topic.name == name for topic in client.topics()):
        client.delete(name)
    client.create(name, partitions=PARTITIONS, settings=settings)
    return name


def send(servers: str, partition: int, events: TopicContent) -> None:
    """Send the events of a partition in large lz4 batches."""
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "compression.type": "lz4",
            "linger.ms": 50,
            "batch.size": 1 << 20,
            "batch.num.messages": 20_000,
            "queue.buffering.max.messages": 200_000,
            "enable.idempotence": True,
            "log_level": 3,
        }
    )
    for number, line in enumerate(events.lines(partition)):
        while True:
            try:
                producer.produce(events.topic, line, partition=partition)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise SystemExit(f"{len(producer)} events were not written to {events.topic}")
