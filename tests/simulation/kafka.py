"""A simulated Kafka broker with transactions, and the Java objects that the product reaches it through.

A transactional id belongs to the newest producer that has initialised it; that ends the transaction of the
older one, whose calls fail. Readers of committed records see a partition up to its first open transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from headrace.spark.gateway import GatewayError
from tests.simulation.spark import Frame
from tests.simulation.world import active

TRANSACTION_TIMEOUT = 60.0
"""Seconds after which the broker aborts an open transaction."""
_FENCED = "org.apache.kafka.common.errors.ProducerFencedException: a newer producer uses the transactional id"


@dataclass(eq=False)
class Record:
    """A record of a partition."""

    key: bytes
    value: bytes
    state: Literal["open", "committed", "aborted"] = "open"


class TopicPartition(NamedTuple):
    """A partition."""

    topic: str
    partition: int


@dataclass
class _Transaction:
    generation: int = 0
    """Which producer owns the transactional id."""
    began: float | None = None
    records: list[Record] = field(default_factory=list)

    def end(self, state: Literal["committed", "aborted"]) -> None:
        for record in self.records:
            record.state = state
        self.records, self.began = [], None


class Broker:
    """Topics with one partition each, and transactions by transactional id."""

    def __init__(self) -> None:
        self.partitions: dict[str, list[Record]] = {}
        self.transactions: dict[str, _Transaction] = {}
        self.on_commit: Callable[[], None] = lambda: None

    def committed(self, topic: str) -> list[Record]:
        """Return what a reader of committed records sees."""
        self._abort_expired()
        records = self.partitions.get(topic, [])
        return [each for each in records[: self.stable_end(topic)] if each.state == "committed"]

    def stable_end(self, topic: str) -> int:
        """Return the offset of the first record of an open transaction."""
        self._abort_expired()
        records = self.partitions.get(topic, [])
        return next((n for n, each in enumerate(records) if each.state == "open"), len(records))

    def leave_open(self, topic: str) -> None:
        """Leave an open transaction of another pipeline in a topic, whose run was killed."""
        record = Record(b"other", b"{}")
        self.partitions.setdefault(topic, []).append(record)
        self.transactions[f"other-{len(self.transactions)}"] = _Transaction(
            began=active().now, records=[record]
        )

    def _abort_expired(self) -> None:
        for transaction in self.transactions.values():
            if transaction.began is not None and active().now > transaction.began + TRANSACTION_TIMEOUT:
                transaction.generation += 1
                transaction.end("aborted")

    def own(self, transactional_id: str, generation: int) -> _Transaction:
        """Return the transaction of a producer.

        Raises:
            GatewayError: a newer producer owns it, or it has timed out.
        """
        self._abort_expired()
        transaction = self.transactions[transactional_id]
        if transaction.generation != generation:
            raise GatewayError(_FENCED)
        return transaction


_brokers: list[Broker] = []


def use_broker(broker: Broker) -> None:
    """Make a broker that of the present history."""
    _brokers[:] = [broker]


class Producer:
    """A transactional producer."""

    def __init__(self, configuration: dict[str, str]) -> None:
        self._id, self._generation = configuration["transactional.id"], -1

    def initTransactions(self) -> None:  # noqa: N802 - Java's name
        active().step("kafka.init")
        broker = _brokers[-1]
        transaction = broker.transactions.setdefault(self._id, _Transaction())
        transaction.end("aborted")
        transaction.generation += 1
        self._generation = transaction.generation

    def beginTransaction(self) -> None:  # noqa: N802 - Java's name
        self._own("kafka.begin").began = active().now

    def send(self, record: tuple[str, bytes, bytes]) -> None:
        topic, key, value = record
        transaction = self._own("kafka.send")
        sent = Record(key, value)
        transaction.records.append(sent)
        _brokers[-1].partitions.setdefault(topic, []).append(sent)

    def flush(self) -> None:
        self._own("kafka.flush")

    def commitTransaction(self) -> None:  # noqa: N802 - Java's name
        self._own("kafka.commit").end("committed")
        _brokers[-1].on_commit()
        active().step("kafka.reply")  # the producer may be gone

    def abortTransaction(self) -> None:  # noqa: N802 - Java's name
        self._own("kafka.abort").end("aborted")

    def close(self, timeout: float) -> None: ...

    def _own(self, point: str) -> _Transaction:
        active().step(point)
        return _brokers[-1].own(self._id, self._generation)


class Consumer:
    """A consumer of one partition, that reads committed records or all of them."""

    def __init__(self, configuration: dict[str, str]) -> None:
        self._committed_only = configuration["isolation.level"] == "read_committed"
        self._partition = TopicPartition("", 0)
        self._position = 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        [self._partition] = partitions

    def seekToBeginning(self, partitions: object) -> None:  # noqa: N802 - Java's name
        self._position = 0

    def seek(self, partition: TopicPartition, position: int) -> None:
        self._position = position

    def endOffsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: N802 - Java's name
        active().step("kafka.end")
        return {self._partition: self._end()}

    def position(self, partition: TopicPartition) -> int:
        return self._position

    def poll(self, timeout: float) -> list[Record]:
        active().step("kafka.poll")
        topic = self._partition.topic
        records = _brokers[-1].partitions.get(topic, [])[self._position : self._end()]
        if not records:
            active().sleep(timeout)
        self._position += len(records)
        return [each for each in records if each.state == "committed" or not self._committed_only]

    def close(self) -> None: ...

    def _end(self) -> int:
        broker, topic = _brokers[-1], self._partition.topic
        return broker.stable_end(topic) if self._committed_only else len(broker.partitions.get(topic, []))


class RecordSender:
    """The kernel's sender."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer

    def begin(self) -> None: ...
    def check(self) -> None: ...


def _send_frame(frame: Frame, sender: RecordSender) -> int:
    for row in frame.rows:
        sender.producer.send(("out", b"", json.dumps(row).encode()))
    return len(frame.rows)


def _find_last(records: Iterable[Record], key: bytes) -> bytes | None:
    return next((each.value for each in reversed([*records]) if each.key == key), None)


JAVA = SimpleNamespace(
    clients=SimpleNamespace(
        producer=SimpleNamespace(
            KafkaProducer=Producer, ProducerRecord=lambda topic, partition, key, value: (topic, key, value)
        ),
        consumer=SimpleNamespace(KafkaConsumer=Consumer),
    ),
    common=SimpleNamespace(TopicPartition=TopicPartition),
)
KERNEL = SimpleNamespace(
    kafka=SimpleNamespace(
        RecordSender=RecordSender,
        FrameSender=SimpleNamespace(send=_send_frame),
        LedgerScan=SimpleNamespace(last=_find_last),
    )
)


def stand_ins() -> dict[str, Any]:
    """Return what modules of the product see in place of their functions for Java objects."""
    return {
        "kafka_java": lambda spark: JAVA,
        "kernel": lambda spark: KERNEL,
        "java_map": lambda spark, values: dict(values),
        "java_list": lambda spark, values: list(values),
        "java_duration": lambda spark, milliseconds: milliseconds / 1000,
        "java_frame": lambda frame: frame,
        "session_of_thread": lambda: None,
    }
