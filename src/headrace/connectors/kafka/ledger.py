"""The ledger of a Kafka sink: its newest entry in the compacted topic `_headrace_ledger`.

    key     {"pipeline": "fraud", "sink": "alerts", "topic": "alerts"}
    value   {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}}

An entry is sent in the transaction of its rows, so both are visible or neither is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.failpoints import reach
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.admin import kafka_java
from headrace.connectors.kafka.subscription import LEDGER
from headrace.connectors.ledger import LedgerEntry
from headrace.spark.gateway import java_duration, java_list, java_map, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.connectors.kafka import Kafka

_POLL_MS = 500


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
        java = kafka_java(self.spark)
        partition = java.common.TopicPartition(LEDGER, 0)
        partitions = java_list(self.spark, [partition])
        configuration = java_map(self.spark, properties.ledger_consumer(self.options))
        consumer = java.clients.consumer.KafkaConsumer(configuration)
        try:
            consumer.assign(partitions)
            consumer.seekToBeginning(partitions)
            end, content = consumer.endOffsets(partitions)[partition], None
            while consumer.position(partition) < end:
                records = consumer.poll(java_duration(self.spark, _POLL_MS))
                content = kernel(self.spark).kafka.LedgerScan.last(records, self._key) or content
        finally:
            consumer.close()
        return LedgerEntry() if content is None else LedgerEntry.decode(bytes(content))

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
