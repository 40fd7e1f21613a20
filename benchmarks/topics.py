"""Topics full of JSON events, made quickly and kept: what the benchmarks of several engines read.

An event is `{"k": "k123", "v": 456, "ts": 1767225600123, "note": "..."}`: a key out of `keys`, a number below
1,000, a time in milliseconds that grows by one with each event of its partition, and a text that no benchmark
looks at, as records in practice have. It depends on its number and the seed only, so a topic is the same
wherever it is made.
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


class Made(Protocol):
    """What a topic is filled with; `numbers` make it again, in a process for each partition."""

    @property
    def count(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def numbers(self) -> tuple[int, ...]: ...
    def lines(self, partition: int) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Events:
    """What a topic holds: how many events, of how many keys, in an order that the seed decides."""

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
        """The events of one partition: every `partitions`th one, in order of time."""
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
    """A Kafka of the benchmarks' own, ended afterwards; its topics stay in `place` for the next time.

    Without a place they go with it. Yields the address. A SIGTERM ends the block as an exception would, and
    with it the broker, which is a process of its own.
    """
    # Old events must not be cleaned away: their times are of 2026.
    settings = {"log.retention.ms": "-1"}
    with (
        ended_by_sigterm(),
        tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as fleeting,
    ):
        directory = (place or Path(fleeting)).absolute()
        left_over = kafka_server.running_cluster(directory)  # of a benchmark that was killed
        cluster = left_over or kafka_server.start(directory, port=0, settings=settings)
        try:
            yield cluster.servers
        finally:
            cluster.stop()


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises SystemExit in the block instead of ending the process where it stands."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fill(servers: str, events: Made) -> str:
    """The topic with these events: made by a process for each partition, unless it is there.

    Returns its name.
    """
    client = Client(servers)
    held = {topic.name: topic.records for topic in client.topics()}
    if held.get(events.topic) == events.count:
        return events.topic
    if events.topic in held:
        client.delete(events.topic)
    client.create(events.topic, partitions=PARTITIONS, settings={"compression.type": "producer"})
    made = type(events)
    sending = f"from {made.__module__} import {made.__name__} as Made; from benchmarks.topics import send; import sys; "
    sending += "send(sys.argv[1], int(sys.argv[2]), Made(*map(int, sys.argv[3:])))"
    numbers = [str(number) for number in events.numbers]
    filling = [
        subprocess.Popen([sys.executable, "-c", sending, servers, str(partition), *numbers])
        for partition in range(PARTITIONS)
    ]
    ended = [process.wait() for process in filling]  # all of them, also where one failed
    if any(ended):
        raise SystemExit(f"the topic {events.topic} could not be filled")
    return events.topic


def fresh(servers: str, name: str, settings: dict[str, str] | None = None) -> str:
    """An empty topic of this name, with as many partitions as the topics of events have."""
    client = Client(servers)
    if any(topic.name == name for topic in client.topics()):
        client.delete(name)
    client.create(name, partitions=PARTITIONS, settings=settings)
    return name


def send(servers: str, partition: int, events: Made) -> None:
    """Send in big compressed batches; a topic on disk is a sixth of its size, and quick to read."""
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
