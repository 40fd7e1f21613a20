"""Reads topics with Spark's own Kafka source, as bytes with their place: `payments-3` and the offset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.failures import reason, told
from headrace.connectors.kafka.servers import MissingTopicError, Servers
from headrace.errors import HeadraceError, SourceError
from headrace.spark.gateway import GatewayError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.connectors.kafka import Kafka

_RECORDS = "org.apache.spark.sql.headrace.kafka.RecordsProvider"
"""Spark's source with a quicker reader, for the columns that every pipeline needs: value and place."""

_LIVE = "org.apache.spark.sql.headrace.kafka.RealTimeProvider"
"""Spark's source, which asks Kafka for the ends of partitions while a batch runs, not while rows wait for the next one."""


class KafkaReader:
    """Reads the topics of one source, and notes the progress under a consumer group."""

    def __init__(self, options: Kafka) -> None:
        self._options = options
        self._servers: Servers | None = None
        self._group = ""

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        self._group = self._options.group or f"{context.pipeline}.{context.source}"
        with self._told(context):
            start = properties.starting(self._options, self._partitions(spark))
            quick = not context.real_time and not self._options.metadata
            reader = spark.readStream.format(_LIVE if context.real_time else _RECORDS if quick else "kafka")
            frame = reader.options(**properties.reading(self._options), **start).load()
            return self._without_tombstones(frame) if quick else self._shaped(frame)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.start == "latest":
            raise SourceError(
                "a batch that starts at the latest record is empty",
                where=context.source,
                hint="start at the earliest, a time or offsets",
            )
        with self._told(context):
            start = properties.starting(self._options, self._partitions(spark))
            self.close()
            reader = spark.read.format("kafka").options(**properties.reading(self._options))
            return self._shaped(reader.options(**start, endingOffsets="latest").load())

    def acknowledge(self, description: str, position: Any) -> None:
        """Commit the group's offsets."""
        ours = next(iter(properties.subscription(self._options).values()))
        if self._servers is not None and "Kafka" in description and _subject(description) == _plain(ours):
            self._servers.commit(self._group, position)

    def close(self) -> None:
        if self._servers is not None:
            self._servers.close()
            self._servers = None

    def _partitions(self, spark: SparkSession) -> dict[str, list[int]]:
        """What is read, where that is known: also finds out early whether the servers answer and the topics exist."""
        self._servers = self._servers or Servers(spark, self._options)
        found = self._servers.partitions(self._named(self._servers))
        for topic, numbers in self._options.assign.items():
            if missing := sorted(set(numbers) - set(found[topic])):
                raise SourceError(
                    f"`{topic}` has no partition {missing[0]}", hint=f"it has {sorted(found[topic])}"
                )
        return {topic: sorted(self._options.assign.get(topic, found[topic])) for topic in found}

    def _named(self, servers: Servers) -> tuple[str, ...]:
        """The topics: those that match a pattern now, where there is one; others may come."""
        if self._options.pattern is None:
            return properties.named_topics(self._options)
        return servers.matching(properties.subscription(self._options)["subscribePattern"])

    def _shaped(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        place = f.concat_ws("-", "topic", f.col("partition").cast("string")).alias("partition")
        return self._without_tombstones(frame).select("value", place, "offset", *self._metadata())

    def _without_tombstones(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        return frame.where(f.col("value").isNotNull()) if self._options.tombstones == "skip" else frame

    def _metadata(self) -> list[Column]:
        from pyspark.sql import functions as f

        wanted: dict[str, str] = dict(self._options.metadata)  # type: ignore[arg-type]
        if not wanted:
            return []
        columns = {name: f.col(name) for name in wanted if name not in ("key", "key_bytes")}
        columns |= {"key": f.col("key").cast("string"), "key_bytes": f.col("key")}
        return [f.struct(*(columns[word].alias(name) for word, name in wanted.items())).alias("__metadata")]

    @contextmanager
    def _told(self, context: ReadContext) -> Iterator[None]:
        from pyspark.errors import PySparkException

        try:
            yield
        except MissingTopicError as error:
            raise SourceError(str(error), where=context.source, hint=error.hint) from None
        except (GatewayError, PySparkException) as error:
            problem = told(str(error), self._options.servers)
            what = problem.what if problem else f"Kafka can't be read: {reason(str(error))}"
            raise SourceError(what, where=context.source, hint=problem.hint if problem else "") from error
        except HeadraceError as error:
            raise type(error)(error.what, where=error.where or context.source, hint=error.hint) from None


def _subject(description: str) -> str:
    """What a source of Spark's reads: `KafkaV2[Subscribe[a, b]]` is about `a,b`."""
    return _plain(description.partition("[")[2].partition("[")[2].removesuffix("]]"))


def _plain(subject: str) -> str:
    return "".join(sorted(subject.replace(" ", "").split(",")))
