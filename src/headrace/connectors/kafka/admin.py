"""An admin client for topics, partitions and offsets of consumer groups: Kafka's Java client."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka import properties
from headrace.connectors.kafka.errors import root_cause
from headrace.connectors.kafka.options import OFFSET_METADATA
from headrace.connectors.kafka.subscription import LEDGER
from headrace.durations import microseconds
from headrace.errors import OptionError, SetupError, did_you_mean
from headrace.spark.gateway import java_duration, java_list, java_map, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.connectors.kafka import Kafka

_LEDGER_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
    "retention.ms": "-1",
}
_POLL_SECONDS = 0.05
_COMMIT_MS = 15_000
"""The timeout of the last offset commit of a run; the first commit on a cluster creates a topic."""


class MissingTopicError(Exception):
    """A topic does not exist; `hint` has near names."""

    def __init__(self, topic: str, hint: str) -> None:
        self.topic = topic
        self.hint = hint
        super().__init__(f"unknown topic `{topic}`")


class KafkaAdmin:
    """An admin client. Calls raise `JavaError`; `headrace.connectors.kafka.errors` translates it."""

    def __init__(self, spark: SparkSession, options: Kafka) -> None:
        self._java: Any = kafka_java(spark)
        self._timeout_ms = microseconds(options.timeout) // 1000
        self._admin = self._java.clients.admin.AdminClient.create(java_map(spark, properties.client(options)))
        self._spark = spark
        self._pending: Any = None

    def partitions(self, topics: tuple[str, ...]) -> dict[str, list[int]]:
        """Return the partitions of topics.

        Raises:
            MissingTopicError: a topic does not exist.
        """
        existing = self.topics()
        for topic in topics:
            if topic not in existing:
                visible = [name for name in existing if not name.startswith("_")]
                raise MissingTopicError(topic, did_you_mean(topic, visible))
        descriptions = self._result(
            self._admin.describeTopics(java_list(self._spark, topics)).allTopicNames()
        )
        return {
            str(name): [int(partition.partition()) for partition in descriptions[name].partitions()]
            for name in descriptions
        }

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        return {str(name) for name in self._result(self._admin.listTopics().names())}

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the topics whose whole name matches a Java regular expression.

        Raises:
            OptionError: the expression is invalid.
        """
        try:
            compiled = jvm(self._spark).java.util.regex.Pattern.compile(pattern)
        except Exception as error:
            raise OptionError(
                f"invalid Java regular expression: {root_cause(str(error))}",
                where="kafka: pattern",
            ) from error
        return tuple(sorted(name for name in self.topics() if compiled.matcher(name).matches()))

    def create(
        self, topic: str, partitions: int | None, replication: int | None, settings: Mapping[str, str]
    ) -> None:
        """Create a topic unless it exists, and wait until the servers report it."""
        optional = jvm(self._spark).java.util.Optional
        count = optional.of(partitions) if partitions else optional.empty()
        replicas = jvm(self._spark).java.lang.Short.valueOf(str(replication or -1))
        new_topic = self._java.clients.admin.NewTopic(
            topic, count, optional.of(replicas) if replication else optional.empty()
        )
        new_topic.configs(java_map(self._spark, settings))
        try:
            self._result(self._admin.createTopics(java_list(self._spark, [new_topic])).all())
        except Exception as error:
            if "TopicExistsException" not in str(error):
                raise
        deadline = time.monotonic() + self._timeout_ms / 1000
        while topic not in self.topics() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)  # metadata reach the brokers a moment after the controller

    def ensure_topic(self, options: Kafka) -> None:
        """Check that the topic of a sink exists; create it if the option `partitions` is set.

        Raises:
            MissingTopicError: it does not exist.
        """
        if options.topic is None:
            return
        if options.partitions and options.topic not in self.topics():
            settings = dict(options.topic_settings)
            self.create(options.topic, options.partitions, options.replication, settings)  # type: ignore[arg-type]
        self.partitions((options.topic,))

    def ensure_ledger(self, replication: int | None) -> None:
        """Create the topic of the ledgers, unless it exists."""
        if LEDGER not in self.topics():
            self.create(LEDGER, 1, replication, _LEDGER_SETTINGS)

    def commit(self, group: str, end: Mapping[str, Mapping[str, int]]) -> None:
        """Commit a group's offsets, by topic and partition, without waiting: only Kafka's tools read them."""
        offsets = java_map(self._spark, {})
        # Resolved once: py4j looks up each part of a Java name in all jars.
        topic_partition, metadata = (
            self._java.common.TopicPartition,
            self._java.clients.consumer.OffsetAndMetadata,
        )
        for topic, partitions in end.items():
            for partition, offset in partitions.items():
                offsets[topic_partition(topic, int(partition))] = metadata(int(offset), OFFSET_METADATA)
        if len(offsets):
            self._pending = self._admin.alterConsumerGroupOffsets(group, offsets).all()

    def close(self) -> None:
        """Wait for the last commit of offsets, then close the client."""
        with contextlib.suppress(Exception):  # recovery does not depend on a group's offsets
            if self._pending is not None:
                self._wait_for(self._pending, _COMMIT_MS)
        self._admin.close(java_duration(self._spark, 1_000))

    def _result(self, future: Any) -> Any:
        # Longer than the timeout of the client, whose error has details.
        return self._wait_for(future, self._timeout_ms + 2_000)

    def _wait_for(self, future: Any, millis: int) -> Any:
        unit = jvm(self._spark).java.util.concurrent.TimeUnit.MILLISECONDS
        return future.get(millis, unit)


def kafka_java(spark: SparkSession) -> Any:
    """Return the package `org.apache.kafka` in the driver.

    Raises:
        SetupError: Spark was started without Kafka's jars.
    """
    package: Any = jvm(spark).org.apache.kafka
    if not hasattr(package.clients.admin.AdminClient, "create"):
        raise SetupError(
            "the running Spark has no Kafka jars",
            where="kafka",
            hint="end this Python process and let Headrace start Spark, or add the jars of `headrace jars "
            "fetch kafka`",
        )
    return package
