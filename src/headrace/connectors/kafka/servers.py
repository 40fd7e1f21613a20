"""Asking Kafka's servers, with Kafka's own Java client in Spark's driver: topics, partitions, offsets of a group."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka import properties
from headrace.connectors.kafka.failures import reason
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
_PAUSE = 0.05
_NOTED_MS = 15_000
"""How long the end of a run waits until a group's last offsets are noted: the first ones of a cluster make a topic."""


class MissingTopicError(Exception):
    """A topic isn't there; `hint` names the nearest that are."""

    def __init__(self, topic: str, hint: str) -> None:
        self.topic = topic
        self.hint = hint
        super().__init__(f"there is no topic `{topic}`")


class Servers:
    """An admin client; the calls raise `JavaError`, which `headrace.connectors.kafka.failures` reads."""

    def __init__(self, spark: SparkSession, options: Kafka) -> None:
        self._java: Any = kafka_java(spark)
        self._patience = microseconds(options.timeout) // 1000
        self._admin = self._java.clients.admin.AdminClient.create(java_map(spark, properties.admin(options)))
        self._spark = spark
        self._pending: Any = None

    def partitions(self, topics: tuple[str, ...]) -> dict[str, list[int]]:
        """The partitions of these topics.

        Raises:
            MissingTopicError: one isn't there.
        """
        known = self.topics()
        for topic in topics:
            if topic not in known:
                visible = [name for name in known if not name.startswith("_")]
                raise MissingTopicError(topic, did_you_mean(topic, visible))
        wanted = java_list(self._spark, topics)
        described = self._got(self._admin.describeTopics(wanted).allTopicNames())
        return {
            str(name): [int(part.partition()) for part in described[name].partitions()] for name in described
        }

    def topics(self) -> set[str]:
        """The names of all topics."""
        return {str(name) for name in self._got(self._admin.listTopics().names())}

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The topics whose whole name a Java expression matches.

        Raises:
            OptionError: it is none.
        """
        try:
            compiled = jvm(self._spark).java.util.regex.Pattern.compile(pattern)
        except Exception as error:
            raise OptionError(
                f"expected an expression of Java's, got an error: {reason(str(error))}",
                where="kafka: pattern",
            ) from error
        return tuple(sorted(name for name in self.topics() if compiled.matcher(name).matches()))

    def create(
        self, topic: str, partitions: int | None, replication: int | None, settings: Mapping[str, str]
    ) -> None:
        """Create a topic, and wait until the servers tell of it; one that another has just made is as good."""
        optional = jvm(self._spark).java.util.Optional
        count = optional.of(partitions) if partitions else optional.empty()
        copies = jvm(self._spark).java.lang.Short.valueOf(str(replication or -1))
        fresh = self._java.clients.admin.NewTopic(
            topic, count, optional.of(copies) if replication else optional.empty()
        )
        fresh.configs(java_map(self._spark, settings))
        try:
            self._got(self._admin.createTopics(java_list(self._spark, [fresh])).all())
        except Exception as error:
            if "TopicExistsException" not in str(error):
                raise
        deadline = time.monotonic() + self._patience / 1000
        while topic not in self.topics() and time.monotonic() < deadline:
            time.sleep(_PAUSE)  # a broker hears of it a moment after it is made

    def ensure_topic(self, options: Kafka) -> None:
        """See that a sink's topic is there; made, where `partitions` asks for that.

        Raises:
            MissingTopicError: it isn't there.
        """
        if options.topic is None:
            return
        if options.partitions and options.topic not in self.topics():
            settings = dict(options.topic_settings)
            self.create(options.topic, options.partitions, options.replication, settings)  # type: ignore[arg-type]
        self.partitions((options.topic,))

    def ensure_ledger(self, replication: int | None) -> None:
        """Create the ledger's topic, if this is the first sink of the cluster."""
        if properties.LEDGER not in self.topics():
            self.create(properties.LEDGER, 1, replication, _LEDGER_SETTINGS)

    def commit(self, group: str, position: Mapping[str, Mapping[str, int]]) -> None:
        """Note a group's offsets, without waiting: they are for people to look at."""
        offsets = java_map(self._spark, {})
        # Once for all partitions: each part of a Java name is looked up in all jars.
        place, noted = self._java.common.TopicPartition, self._java.clients.consumer.OffsetAndMetadata
        for topic, parts in position.items():
            for partition, offset in parts.items():
                offsets[place(topic, int(partition))] = noted(int(offset))
        if len(offsets):
            self._pending = self._admin.alterConsumerGroupOffsets(group, offsets).all()

    def close(self) -> None:
        """Let go, when the last offsets are noted or can't be."""
        with contextlib.suppress(Exception):  # nothing depends on a group's offsets
            if self._pending is not None:
                self._waited(self._pending, _NOTED_MS)
        self._admin.close(java_duration(self._spark, 1_000))

    def _got(self, future: Any) -> Any:
        return self._waited(future, self._patience + 2_000)  # the client's own time-out says more

    def _waited(self, future: Any, millis: int) -> Any:
        unit = jvm(self._spark).java.util.concurrent.TimeUnit.MILLISECONDS
        return future.get(millis, unit)


def kafka_java(spark: SparkSession) -> Any:
    """The package `org.apache.kafka` in the driver.

    Raises:
        SetupError: this Spark was started without Kafka's jars.
    """
    package: Any = jvm(spark).org.apache.kafka
    if not hasattr(package.clients.admin.AdminClient, "create"):
        raise SetupError(
            "the running Spark has no Kafka jars",
            where="kafka",
            hint="let Headrace start it (end this Python process), or give it those of `headrace jars fetch kafka`",
        )
    return package
