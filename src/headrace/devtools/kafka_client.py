"""A Kafka client for the terminal: topics, records, consumer groups and their lag. Needs no Spark.

It uses `confluent-kafka`, which `pip install 'headrace[kafka]'` installs. Pipelines use Kafka's Java client
instead (`headrace.connectors.kafka.admin`), which is present wherever Spark runs.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headrace.connectors.kafka.options import OFFSET_METADATA, millis_of
from headrace.devtools.kafka_consumer import consume_as_member, consume_partitions
from headrace.devtools.kafka_records import ENDS, Lag, Record, Topic, clamp_offset, parse_time
from headrace.errors import OptionError, SetupError, SourceError, did_you_mean

TIMEOUT = 10.0
_POLL_SECONDS = 0.05
_END = -1
_PARTITIONER = "murmur2_random"
"""The partitioner of Java's clients, and so of pipelines; librdkafka's default is another."""


class Client:
    """A connection to a cluster.

    Raises:
        SetupError: `confluent-kafka` is not installed.
        OptionError: the settings are invalid.
        SourceError: no server answers.
    """

    def __init__(self, servers: str, settings: Mapping[str, str] | None = None) -> None:
        try:
            import confluent_kafka.admin
        except ImportError as error:
            raise SetupError(
                f"confluent-kafka cannot be imported: {error}",
                where="kafka",
                hint="pip install 'headrace[kafka]'",
            ) from error
        self._kafka: Any = confluent_kafka
        self.servers = servers
        # Errors are raised by the calls, so the log of the client is off. Its default backoff is as long as
        # the timeout of a call.
        defaults = {"bootstrap.servers": servers, "log_level": 0, "reconnect.backoff.max.ms": 1000}
        self._settings: dict[str, Any] = {**defaults, **(settings or {})}
        try:
            self._admin = confluent_kafka.admin.AdminClient(self._settings, logger=_silent_logger())
        except confluent_kafka.KafkaException as error:
            raise OptionError(
                f"invalid settings: {error.args[0].str()}",
                where="kafka",
                hint="use librdkafka's names, such as security.protocol=SASL_SSL with sasl.mechanism=PLAIN",
            ) from error
        self._metadata()

    def topics(self) -> list[Topic]:
        """List all topics except Kafka's internal ones, by name."""
        topics = []
        for name, topic in sorted(self._metadata().items()):
            if not name.startswith("__"):
                replicas = {len(partition.replicas) for partition in topic.partitions.values()}
                records = sum(high - low for low, high in self.bounds(name).values())
                topics.append(Topic(name, len(topic.partitions), max(replicas, default=0), records))
        return topics

    def create(
        self,
        name: str,
        *,
        partitions: int,
        replication: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, and wait until the cluster reports it with leaders.

        Raises:
            OptionError: the topic exists, or the servers refuse it.
        """
        topic = self._kafka.admin.NewTopic(
            name, num_partitions=partitions, replication_factor=replication or -1, config=dict(settings or {})
        )
        self._wait_for(self._admin.create_topics([topic]), name)
        self._wait_until(lambda topics: name in topics and _has_leaders(topics[name]))

    def delete(self, name: str) -> None:
        """Delete a topic and its records, and wait until the cluster no longer reports it."""
        self.require(name)
        self._wait_for(self._admin.delete_topics([name]), name)
        self._wait_until(lambda topics: name not in topics)

    def require(self, name: str) -> list[int]:
        """Return the partitions of a topic.

        Raises:
            OptionError: there is no such topic; the hint has near names.
        """
        topics = self._metadata()
        if name not in topics:
            others = [topic for topic in topics if not topic.startswith("__")]
            create = f"create it: headrace kafka topics --create {name}"
            raise OptionError(
                f"unknown topic `{name}` at {self.servers}",
                where="kafka",
                hint=did_you_mean(name, others) if others else create,
            )
        return sorted(topics[name].partitions)

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[str | bytes | None, str | bytes | None]],
        *,
        partition: int | None = None,
        linger_ms: int = 20,
    ) -> int:
        """Send (key, value) pairs, wait until all are written, and return their number.

        Args:
            topic: the topic.
            records: keys and values.
            partition: send all records to this partition; default: the partition of the key.
            linger_ms: how long a record waits for others, to be sent in one request.

        Raises:
            OptionError: the topic has no such partition.
            SourceError: some records were not written.
        """
        if partition is not None and partition not in (partitions := self.require(topic)):
            raise OptionError(
                f"expected a partition of `{topic}`, from 0 to {len(partitions) - 1}, got {partition}",
                where="kafka",
            )
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": linger_ms}
        producer = self._kafka.Producer(
            {"partitioner": _PARTITIONER, **self._settings, **settings}, logger=_silent_logger()
        )
        errors: list[str] = []
        sent = _send_all(
            producer, topic, records, {} if partition is None else {"partition": partition}, errors
        )
        unsent = producer.flush(TIMEOUT * 3)
        if errors or unsent:
            raise SourceError(
                f"{len(errors) + unsent} of {sent} records were not written to `{topic}`: "
                f"{errors[0] if errors else 'no answer'}",
                where="kafka",
            )
        return sent

    def consume(
        self,
        topic: str,
        *,
        start: str = "earliest",
        group: str | None = None,
        follow: bool = False,
        ended: Callable[[], bool] = lambda: False,
    ) -> Iterator[Record]:
        """Yield the records of a topic up to its current end; with `follow`, without end.

        Args:
            topic: the topic.
            start: `earliest`, `latest`, an offset (`17`, or `-5` for the last five) or a time in ISO form.
            group: consume as a member of this group from its committed offsets, and commit; then `start` is
                `earliest` or `latest`, for partitions without an offset.
            follow: wait for more records.
            ended: called between records and while none arrive; True ends the iteration.

        Raises:
            OptionError: there is no such topic, or no such start.
            SourceError: the servers are unavailable, or refuse.
        """
        partitions = self.require(topic)
        if group is not None and start not in ENDS:
            raise OptionError(
                f"expected earliest or latest for a group, got {start!r}",
                where="--from",
                hint=f"move the group: headrace kafka replay {group} {topic} --from {start}",
            )
        reset = start if start in ENDS else "earliest"
        consumer = self._consumer(group or "headrace-terminal", **{"auto.offset.reset": reset})
        try:
            if group is not None:
                records = consume_as_member(self, consumer, topic, follow)
            else:
                records = consume_partitions(
                    self, consumer, topic, self._offsets(consumer, topic, partitions, start), follow
                )
            for record in records:
                if record is not None:
                    yield record
                if ended():
                    return
        finally:
            consumer.close()

    def lag(self, group: str | None = None) -> list[Lag]:
        """Return the lag of a group, or of all groups, in each partition with a committed offset."""
        groups = [listing.group_id for listing in self._admin.list_consumer_groups().result(TIMEOUT).valid]
        if group is not None and group not in groups:
            raise OptionError(
                f"unknown group `{group}` at {self.servers}",
                where="kafka lag",
                hint=did_you_mean(group, groups),
            )
        return [
            Lag(name, p.topic, p.partition, p.offset, self.bounds(p.topic)[p.partition][1])
            for name in ([group] if group else sorted(groups))
            for p in self._group_offsets(name)
        ]

    def replay(self, group: str, topic: str, start: str) -> list[Lag]:
        """Move the committed offsets of a group, which must have no active members.

        Raises:
            OptionError: the group has members, or there is no such start.
        """
        partitions = self.require(topic)
        consumer = self._consumer(group)
        try:
            positions = self._offsets(consumer, topic, partitions, start)
        finally:
            consumer.close()
        bounds = self.bounds(topic)
        for position in positions:
            low, high = bounds[position.partition]
            position.offset = low if position.offset == self._kafka.OFFSET_BEGINNING else position.offset
            position.offset = high if position.offset in (self._kafka.OFFSET_END, _END) else position.offset
        self._alter_offsets(group, positions)
        return [Lag(group, topic, p.partition, p.offset, bounds[p.partition][1]) for p in positions]

    def is_pipeline_group(self, group: str) -> bool:
        """Return True if a pipeline commits the offsets of the group, only to show its progress."""
        return any(position.metadata == OFFSET_METADATA for position in self._group_offsets(group))

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """Return the first offset and the one after the last, by partition."""
        consumer = self._consumer("headrace-terminal")
        try:
            return {
                number: self._watermarks(consumer, self._kafka.TopicPartition(topic, number))
                for number in self.require(topic)
            }
        finally:
            consumer.close()

    def check_available(self) -> None:
        """Raise SourceError if no server answers."""
        self._metadata()

    def _alter_offsets(self, group: str, positions: list[Any]) -> None:
        request = self._kafka.ConsumerGroupTopicPartitions(group, positions)
        try:
            result = self._admin.alter_consumer_group_offsets([request])[group].result(TIMEOUT)
            errors = [position.error for position in result.topic_partitions if position.error is not None]
        except self._kafka.KafkaException as error:
            errors = [error.args[0]]
        if errors:
            what = f"group `{group}` cannot be moved: {errors[0].str()}"
            raise OptionError(what, where="kafka replay", hint="stop its members first")

    def _metadata(self) -> Any:
        try:
            return self._admin.list_topics(timeout=TIMEOUT).topics
        except self._kafka.KafkaException as error:
            raise SourceError(
                f"no Kafka server answers at {self.servers}: {error.args[0].str()}",
                where="kafka",
                hint="check that it is running; `headrace kafka up` starts a local one",
            ) from error

    def _consumer(self, group: str, **settings: Any) -> Any:
        return self._kafka.Consumer(
            {**self._settings, "group.id": group, "enable.auto.commit": False, **settings},
            logger=_silent_logger(),
        )

    def _watermarks(self, consumer: Any, partition: Any) -> tuple[int, int]:
        """Return both ends of a partition; retry while a new leader takes over."""
        errors = self._kafka.KafkaError
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return consumer.get_watermark_offsets(partition, timeout=TIMEOUT)  # type: ignore[no-any-return]
            except self._kafka.KafkaException as error:
                electing = (errors.NOT_LEADER_FOR_PARTITION, errors.LEADER_NOT_AVAILABLE)
                if error.args[0].code() not in electing or time.monotonic() > deadline:
                    raise
            time.sleep(_POLL_SECONDS)

    def _group_offsets(self, group: str) -> list[Any]:
        request = [self._kafka.ConsumerGroupTopicPartitions(group)]
        topics = self._metadata()
        positions = self._admin.list_consumer_group_offsets(request)[group].result(TIMEOUT).topic_partitions
        return sorted((p for p in positions if p.topic in topics), key=lambda p: (p.topic, p.partition))

    def _offsets(self, consumer: Any, topic: str, partitions: list[int], start: str) -> list[Any]:
        """Return the partitions with the offsets that `start` stands for."""
        topic_partition = self._kafka.TopicPartition
        if start in ENDS:
            offset = self._kafka.OFFSET_BEGINNING if start == "earliest" else self._kafka.OFFSET_END
            return [topic_partition(topic, number, offset) for number in partitions]
        if re.fullmatch(r"-?[0-9]+", start):
            offsets = clamp_offset(int(start), self.bounds(topic), topic)
            return [topic_partition(topic, number, offset) for number, offset in offsets.items()]
        millis = millis_of(parse_time(start))
        times = [topic_partition(topic, number, millis) for number in partitions]
        return list(consumer.offsets_for_times(times, timeout=TIMEOUT))

    def _wait_until(self, condition: Callable[[Mapping[str, Any]], bool]) -> None:
        """Wait until the metadata of all brokers show a change of the controller."""
        deadline = time.monotonic() + TIMEOUT
        while not condition(self._metadata()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _wait_for(self, futures: Mapping[str, Any], name: str) -> None:
        try:
            futures[name].result(TIMEOUT)
        except self._kafka.KafkaException as error:
            raise OptionError(f"topic `{name}`: {error.args[0].str()}", where="kafka topics") from error


def _send_all(
    producer: Any,
    topic: str,
    records: Iterable[tuple[str | bytes | None, str | bytes | None]],
    options: dict[str, int],
    errors: list[str],
) -> int:
    """Send records, append the error of each failed one to `errors`, and return the number of records."""

    def report(error: Any, message: Any) -> None:
        if error is not None:
            errors.append(error.str())

    sent = 0
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value=value, key=key, on_delivery=report, **options)
                break
            except BufferError:  # the queue is full
                producer.poll(_POLL_SECONDS)
        sent += 1
        producer.poll(0)
    return sent


def _has_leaders(topic: Any) -> bool:
    return all(partition.leader >= 0 for partition in topic.partitions.values())


def _silent_logger() -> logging.Logger:
    logger = logging.getLogger("headrace.kafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
