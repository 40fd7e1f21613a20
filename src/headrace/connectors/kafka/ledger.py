"""The ledger of a sink: its newest entry in the compacted topic `_headrace_ledger`.

    key     {"pipeline": "fraud", "sink": "alerts", "topic": "alerts"}
    value   {"epochs": {"<lineage>": 41}}

An entry is written in the transaction of the rows it speaks of, so one is there if and only if the other is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka import properties
from headrace.connectors.kafka.servers import kafka_java
from headrace.spark.gateway import java_duration, java_list, java_map, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.connectors.kafka import Kafka

_LINEAGES = 8
"""How many checkpoints' epochs an entry remembers; older ones can't come back but from a backup."""
_POLL_MS = 500


@dataclass(frozen=True)
class Entry:
    """The last epoch committed, by lineage; the newest lineage stands last."""

    epochs: dict[str, int] = field(default_factory=dict)

    def with_epoch(self, lineage: str, epoch: int) -> Entry:
        others = [(name, last) for name, last in self.epochs.items() if name != lineage]
        return Entry(dict([*others[1 - _LINEAGES :], (lineage, epoch)]))

    def encoded(self) -> bytes:
        return json.dumps({"epochs": self.epochs}).encode()

    @classmethod
    def decoded(cls, content: bytes | None) -> Entry:
        return cls(json.loads(bytes(content))["epochs"]) if content is not None else cls()


def key_of(pipeline: str, sink: str, topic: str) -> bytes:
    """The key of a sink's entries; a sink that is given another topic begins anew there, as with another file."""
    return json.dumps({"pipeline": pipeline, "sink": sink, "topic": topic}).encode()


def newest(spark: SparkSession, options: Kafka, key: bytes) -> Entry:
    """Read the ledger to its end; entries of transactions that were given up aren't seen."""
    java = kafka_java(spark)
    duration = java_duration(spark, _POLL_MS)
    scan: Any = kernel(spark).kafka.LedgerScan
    place = java.common.TopicPartition(properties.LEDGER, 0)
    places = java_list(spark, [place])
    consumer = java.clients.consumer.KafkaConsumer(java_map(spark, properties.ledger_consumer(options)))
    try:
        consumer.assign(places)
        consumer.seekToBeginning(places)
        end, found = consumer.endOffsets(places)[place], None
        while consumer.position(place) < end:
            found = scan.last(consumer.poll(duration), key) or found
        return Entry.decoded(found)
    finally:
        consumer.close()
