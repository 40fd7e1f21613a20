"""Reads topics through Spark's Kafka source, as bytes with their position: `payments-3` and the offset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.admin import KafkaAdmin, MissingTopicError
from headrace.connectors.kafka.errors import root_cause, translate_error
from headrace.connectors.kafka.subscription import subscription, topic_names
from headrace.errors import HeadraceError, SourceError
from headrace.spark.gateway import GatewayError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.kafka import Kafka

_RECORDS = "org.apache.spark.sql.headrace.kafka.RecordsProvider"
"""Spark's source with a faster reader, for pipelines that need only value, partition and offset."""

_REAL_TIME_RECORDS = "org.apache.spark.sql.headrace.kafka.RealTimeProvider"
"""Spark's source, which requests the latest offsets while a batch runs instead of between two batches."""


class KafkaReader:
    """Reads the topics of one source, and commits the progress under a consumer group."""

    def __init__(self, options: Kafka) -> None:
        self._options = options
        self._admin: KafkaAdmin | None = None
        self._group = ""

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        self._group = self._options.group or f"{context.pipeline}.{context.source}"
        with self._translate_errors(context):
            start = properties.starting(self._options, self._partitions(spark))
            fast = not context.real_time and not self._options.metadata
            provider = _REAL_TIME_RECORDS if context.real_time else _RECORDS if fast else "kafka"
            reader = spark.readStream.format(provider)
            frame = reader.options(**properties.reading(self._options), **start).load()
            return self._without_tombstones(frame) if fast else self._select_record(frame)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.start == "latest":
            raise SourceError(
                "a batch that starts at the latest record is empty",
                where=context.source,
                hint="set start to `earliest`, a time or offsets",
            )
        with self._translate_errors(context):
            start = properties.starting(self._options, self._partitions(spark))
            self.close()
            reader = spark.read.format("kafka").options(**properties.reading(self._options))
            return self._select_record(reader.options(**start, endingOffsets="latest").load())

    def acknowledge(self, description: str, end: Any) -> None:
        """Commit the group's offsets."""
        topics = next(iter(subscription(self._options).values()))
        if (
            self._admin is not None
            and "Kafka" in description
            and _topics_of(description) == _normalize(topics)
        ):
            self._admin.commit(self._group, end)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _partitions(self, spark: SparkSession) -> dict[str, list[int]]:
        """Return the current partitions; fail early if no server answers or a topic does not exist."""
        self._admin = self._admin or KafkaAdmin(spark, self._options)
        partitions = self._admin.partitions(self._topics(self._admin))
        for topic, numbers in self._options.assign.items():
            if missing := sorted(set(numbers) - set(partitions[topic])):
                raise SourceError(
                    f"`{topic}` has no partition {missing[0]}",
                    hint=f"its partitions: {sorted(partitions[topic])}",
                )
        return {topic: sorted(self._options.assign.get(topic, partitions[topic])) for topic in partitions}

    def _topics(self, admin: KafkaAdmin) -> tuple[str, ...]:
        """Return the topics; for a pattern those that match now, because others may be created later."""
        if self._options.pattern is None:
            return topic_names(self._options)
        return admin.matching(subscription(self._options)["subscribePattern"])

    def _select_record(self, frame: DataFrame) -> DataFrame:
        partition = "concat_ws('-', topic, cast(partition as string)) as partition"
        metadata = self._options.metadata_struct({"key": "cast(key as string)", "key_bytes": "key"})
        return self._without_tombstones(frame).selectExpr("value", partition, "offset", *metadata)

    def _without_tombstones(self, frame: DataFrame) -> DataFrame:
        return frame.where("value is not null") if self._options.tombstones == "skip" else frame

    @contextmanager
    def _translate_errors(self, context: ReadContext) -> Iterator[None]:
        from pyspark.errors import PySparkException

        try:
            yield
        except MissingTopicError as error:
            raise SourceError(str(error), where=context.source, hint=error.hint) from None
        except (GatewayError, PySparkException) as error:
            problem = translate_error(str(error), self._options.servers)
            what = problem.what if problem else f"Kafka cannot be read: {root_cause(str(error))}"
            raise SourceError(what, where=context.source, hint=problem.hint if problem else "") from error
        except HeadraceError as error:
            raise type(error)(error.what, where=error.where or context.source, hint=error.hint) from None


def _topics_of(description: str) -> str:
    """Return the topics in the description of a Spark source: `a,b` of `KafkaV2[Subscribe[a, b]]`."""
    return _normalize(description.partition("[")[2].partition("[")[2].removesuffix("]]"))


def _normalize(topics: str) -> str:
    return "".join(sorted(topics.replace(" ", "").split(",")))
