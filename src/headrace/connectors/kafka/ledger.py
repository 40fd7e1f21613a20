"""The ledger of a Kafka sink: its newest entry in the compacted topic `_headrace_ledger`.

    key     {"pipeline": "fraud", "sink": "alerts", "topic": "alerts"}
    value   {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}}

An entry is sent in the transaction of its rows, so both are visible or neither is.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.failpoints import reach
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.admin import kafka_java
from headrace.connectors.kafka.subscription import LEDGER
from headrace.connectors.ledger import LedgerEntry
from headrace.errors import DeliveryError
from headrace.spark.gateway import java_duration, java_list, java_map, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.connectors.kafka import Kafka

_POLL_MS = 500
_MAX_TRANSACTION_SECONDS = 16 * 60
"""Longer than a transaction is open: the server's `transaction.max.timeout.ms` is 15 minutes by default."""


@dataclass(frozen=True)
class LedgerTopic:
    """Stores the entries of one sink. The producer's transactional id fences older runs.

    Args:
        spark: the session.
        options: of the sink.
        sink: pipeline, sink and topic; a sink with another topic has another ledger.
        producer: has a transaction open when an entry is committed.
    """

    spark: SparkSession
    options: Kafka
    sink: tuple[str, str, str]
    producer: Any

    def read(self) -> LedgerEntry:
        stable, content = self._scan("read_committed", 0)
        end, hidden = self._scan("read_uncommitted", stable)
        if hidden is not None:
            content = self._read_committed(stable, end) or content
        return LedgerEntry() if content is None else LedgerEntry.decode(bytes(content))

    def _read_committed(self, position: int, end: int) -> Any:
        """Wait for the open transactions before a position; return the entry committed there, or None.

        All pipelines share the topic, and a reader of committed records stops at the first open transaction,
        such as that of another run that was killed.
        """
        content, deadline = None, time.monotonic() + _MAX_TRANSACTION_SECONDS
        while position < end:
            position, newer = self._scan("read_committed", position)
            content = newer or content
            if position < end and time.monotonic() > deadline:
                what = f"a transaction of another pipeline is open in the topic `{LEDGER}`"
                hint = "wait for its timeout, or end it with kafka-transactions.sh --abort"
                raise DeliveryError(what, where=self.sink[1], hint=hint)
            time.sleep(_POLL_MS / 1000)
        return content

    def _scan(self, isolation: properties.Isolation, start: int) -> tuple[int, Any]:
        """Read from a position on; return the end position and the newest entry of the sink, or None."""
        java = kafka_java(self.spark)
        partition = java.common.TopicPartition(LEDGER, 0)
        partitions = java_list(self.spark, [partition])
        configuration = java_map(self.spark, properties.ledger_consumer(self.options, isolation))
        consumer = java.clients.consumer.KafkaConsumer(configuration)
        try:
            consumer.assign(partitions)
            consumer.seek(partition, start)
            end, content = consumer.endOffsets(partitions)[partition], None
            while consumer.position(partition) < end:
                records = consumer.poll(java_duration(self.spark, _POLL_MS))
                content = kernel(self.spark).kafka.LedgerScan.last(records, self._key) or content
            return max(start, consumer.position(partition)), content
        finally:
            consumer.close()

    def take_over(self, entry: LedgerEntry) -> bool:
        return True

    def commit(self, entry: LedgerEntry) -> bool:
        record = kafka_java(self.spark).clients.producer.ProducerRecord
        self.producer.send(record(LEDGER, 0, self._key, entry.encode()))
        reach("kafka.ledger")
        self.producer.commitTransaction()
        return True

    @property
    def _key(self) -> bytes:
        return json.dumps(dict(zip(("pipeline", "sink", "topic"), self.sink, strict=True))).encode()
