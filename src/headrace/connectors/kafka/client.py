"""What one does with Kafka from a terminal: topics, records in and out, groups and their lag. Needs no Spark.

On `confluent-kafka`, which comes with `pip install 'headrace[kafka]'`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headrace.connectors.kafka.options import millis_of
from headrace.connectors.kafka.places import ENDS, moment, offsets
from headrace.connectors.kafka.shown import Lag, Record, Topic, record
from headrace.errors import OptionError, SetupError, SourceError, did_you_mean

_PATIENCE = 10.0
_POLL = 0.2
_PAUSE = 0.05
END = -1
_PARTITIONER = "murmur2_random"
"""As Java's clients, and so pipelines, choose the partition of a key; librdkafka's own way is another."""


class Client:
    """A connection to a cluster.

    Raises:
        SetupError: `confluent-kafka` isn't installed.
        OptionError: it doesn't take the settings.
        SourceError: no server answers.
    """

    def __init__(self, servers: str, settings: Mapping[str, str] | None = None) -> None:
        try:
            import confluent_kafka.admin
        except ImportError as error:
            raise SetupError(
                f"confluent-kafka can't be imported: {error}",
                where="kafka",
                hint="pip install 'headrace[kafka]'",
            ) from error
        self._kafka: Any = confluent_kafka
        errors = confluent_kafka.KafkaError
        self._refusals = (errors.TOPIC_AUTHORIZATION_FAILED, errors.GROUP_AUTHORIZATION_FAILED)
        self._passing = (errors.NOT_LEADER_FOR_PARTITION, errors.LEADER_NOT_AVAILABLE)
        self.servers = servers
        # Its own talk about lost connections would come in between; what counts is told by the calls. It would wait for up
        # to ten seconds before it looks again for a server that was away, as long as a call waits for an answer.
        ours = {"bootstrap.servers": servers, "log_level": 0, "reconnect.backoff.max.ms": 1000}
        self._settings: dict[str, Any] = {**ours, **(settings or {})}
        try:
            self._admin = confluent_kafka.admin.AdminClient(self._settings, logger=_silent())
        except confluent_kafka.KafkaException as error:
            raise OptionError(
                f"the settings are refused: {error.args[0].str()}",
                where="kafka",
                hint="they are librdkafka's, such as security.protocol=SASL_SSL with sasl.mechanism=PLAIN",
            ) from error
        self._metadata()

    def topics(self) -> list[Topic]:
        """All topics but Kafka's own, by name."""
        found = []
        for name, topic in sorted(self._metadata().items()):
            if name.startswith("__"):
                continue
            ends = self._bounds(name)
            copies = {len(part.replicas) for part in topic.partitions.values()}
            held = sum(high - low for low, high in ends.values())
            found.append(Topic(name, len(topic.partitions), max(copies, default=0), held))
        return found

    def create(
        self,
        name: str,
        *,
        partitions: int,
        replication: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, and wait until the servers tell of it.

        Raises:
            OptionError: there is one of that name, or the servers refuse it.
        """
        fresh = self._kafka.admin.NewTopic(
            name, num_partitions=partitions, replication_factor=replication or -1, config=dict(settings or {})
        )
        self._done(self._admin.create_topics([fresh]), name)
        self._await(lambda known: name in known and _led(known[name]))

    def delete(self, name: str) -> None:
        """Delete a topic with all it holds, and wait until the servers no longer tell of it."""
        self.require(name)
        self._done(self._admin.delete_topics([name]), name)
        self._await(lambda known: name not in known)

    def require(self, name: str) -> list[int]:
        """The partitions of a topic.

        Raises:
            OptionError: it isn't there; the nearest names are told.
        """
        known = self._metadata()
        if name not in known:
            others = [topic for topic in known if not topic.startswith("__")]
            raise OptionError(
                f"there is no topic `{name}` at {self.servers}",
                where="kafka",
                hint=did_you_mean(name, others)
                if others
                else f"headrace kafka topics --create {name} makes it",
            )
        return sorted(known[name].partitions)

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[str | bytes | None, str | bytes | None]],
        *,
        partition: int | None = None,
        linger_ms: int = 20,
    ) -> int:
        """Send (key, value) pairs and wait until all are written; returns how many.

        A record waits up to `linger_ms` for others to be sent with.

        Raises:
            OptionError: the topic has no such partition.
            SourceError: some were not.
        """
        if partition is not None and partition not in (known := self.require(topic)):
            raise OptionError(
                f"expected a partition of `{topic}`, from 0 to {len(known) - 1}, got {partition}",
                where="kafka",
            )
        failed: list[str] = []
        producer = self._kafka.Producer(
            {
                "partitioner": _PARTITIONER,
                **self._settings,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": linger_ms,
            },
            logger=_silent(),
        )
        sent = 0
        where = {} if partition is None else {"partition": partition}

        def noted(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error.str())

        for key, value in records:
            while True:
                try:
                    producer.produce(topic, value=value, key=key, on_delivery=noted, **where)
                    break
                except BufferError:
                    producer.poll(_POLL)
            sent += 1
            producer.poll(0)
        left = producer.flush(_PATIENCE * 3)
        if failed or left:
            reason = failed[0] if failed else "no answer"
            raise SourceError(
                f"{len(failed) + left} of {sent} records were not written to `{topic}`: {reason}",
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
        """The records of a topic: from a place to what is its end now, or with `follow` without end.

        Args:
            topic: the topic.
            start: `earliest`, `latest`, an offset (`17`, or `-5` for the last five) or a time in ISO form.
            group: read as a member of this group, from where it is, and note the progress; `start` counts where the
                group has none, and is `earliest` or `latest`.
            follow: wait for more records.
            ended: asked between records and while none come, whether that is enough.

        Raises:
            OptionError: there is no such topic, or `start` is no place in it.
            SourceError: the servers are gone, or refuse.
        """
        partitions = self.require(topic)
        if group is not None and start not in ENDS:
            raise OptionError(
                f"expected earliest or latest for a group, got {start!r}",
                where="--from",
                hint=f"headrace kafka replay {group} {topic} --from {start} moves the group there",
            )
        reset = start if start in ENDS else "earliest"
        consumer = self._consumer(group or "headrace-terminal", **{"auto.offset.reset": reset})
        try:
            if group is not None:
                found = self._of_group(consumer, topic, follow)
            else:
                places = self._places(consumer, topic, partitions, start)
                consumer.assign(places)
                found = self._from_places(consumer, topic, places, follow)
            for one in found:
                if one is not None:
                    yield one
                if ended():
                    return
        finally:
            consumer.close()

    def lag(self, group: str | None = None) -> list[Lag]:
        """How far each group is in each partition it has a position in."""
        known = [listing.group_id for listing in self._admin.list_consumer_groups().result(_PATIENCE).valid]
        if group is not None and group not in known:
            raise OptionError(
                f"there is no group `{group}` at {self.servers}",
                where="kafka lag",
                hint=did_you_mean(group, known),
            )
        found = []
        for name in [group] if group else sorted(known):
            for place in self._positions(name):
                end = self._bounds(place.topic)[place.partition][1]
                found.append(Lag(name, place.topic, place.partition, place.offset, end))
        return found

    def replay(self, group: str, topic: str, start: str) -> list[Lag]:
        """Move a group to another place of a topic, so that its members read from there; nobody may be reading.

        Raises:
            OptionError: the group has members now, or the place can't be read.
        """
        partitions = self.require(topic)
        consumer = self._consumer(group)
        try:
            places = self._places(consumer, topic, partitions, start)
        finally:
            consumer.close()
        bounds = self._bounds(topic)
        for place in places:
            low, high = bounds[place.partition]
            place.offset = low if place.offset == self._kafka.OFFSET_BEGINNING else place.offset
            place.offset = high if place.offset in (self._kafka.OFFSET_END, END) else place.offset
        wanted = self._kafka.ConsumerGroupTopicPartitions(group, places)
        try:
            moved = self._admin.alter_consumer_group_offsets([wanted])[group].result(_PATIENCE)
            self._raise_any(moved.topic_partitions)
        except self._kafka.KafkaException as error:
            raise OptionError(
                f"group `{group}` can't be moved: {error.args[0].str()}",
                where="kafka replay",
                hint="stop its members first",
            ) from error
        return [Lag(group, topic, p.partition, p.offset, bounds[p.partition][1]) for p in places]

    def _raise_any(self, places: Iterable[Any]) -> None:
        for place in places:
            if place.error is not None:
                raise self._kafka.KafkaException(place.error)

    def _metadata(self) -> Any:
        try:
            return self._admin.list_topics(timeout=_PATIENCE).topics
        except self._kafka.KafkaException as error:
            raise SourceError(
                f"no Kafka server answers at {self.servers}: {error.args[0].str()}",
                where="kafka",
                hint="is it running there? headrace kafka up starts one to try things on",
            ) from error

    def _consumer(self, group: str, **more: Any) -> Any:
        return self._kafka.Consumer(
            {**self._settings, "group.id": group, "enable.auto.commit": False, **more}, logger=_silent()
        )

    def _bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """The first offset and the one after the last, by partition."""
        consumer = self._consumer("headrace-terminal")
        try:
            return {
                number: self._ends(consumer, self._kafka.TopicPartition(topic, number))
                for number in self.require(topic)
            }
        finally:
            consumer.close()

    def _ends(self, consumer: Any, place: Any) -> tuple[int, int]:
        """Both ends of a partition; a broker may be told of to have it a moment before it does."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return consumer.get_watermark_offsets(place, timeout=_PATIENCE)  # type: ignore[no-any-return]
            except self._kafka.KafkaException as error:
                if error.args[0].code() not in self._passing or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def _positions(self, group: str) -> list[Any]:
        asked = self._admin.list_consumer_group_offsets([self._kafka.ConsumerGroupTopicPartitions(group)])
        known = self._metadata()
        places = asked[group].result(_PATIENCE).topic_partitions
        return sorted((p for p in places if p.topic in known), key=lambda p: (p.topic, p.partition))

    def _places(self, consumer: Any, topic: str, partitions: list[int], start: str) -> list[Any]:
        place = self._kafka.TopicPartition
        if start in ENDS:
            offset = self._kafka.OFFSET_BEGINNING if start == "earliest" else self._kafka.OFFSET_END
            return [place(topic, number, offset) for number in partitions]
        if re.fullmatch(r"-?[0-9]+", start):
            found = offsets(int(start), self._bounds(topic), topic)
            return [place(topic, number, offset) for number, offset in found.items()]
        millis = millis_of(moment(start))
        asked = [place(topic, number, millis) for number in partitions]
        return list(consumer.offsets_for_times(asked, timeout=_PATIENCE))

    def _from_places(
        self, consumer: Any, topic: str, places: list[Any], follow: bool
    ) -> Iterator[Record | None]:
        """None where no record has come for a moment."""
        bounds, quiet = self._bounds(topic), 0
        ends = {
            p.partition: bounds[p.partition][1]
            for p in places
            if bounds[p.partition][1] > bounds[p.partition][0]
        }
        while follow or ends:
            message = self._next(consumer)
            yield None if message is None else record(message)
            quiet = quiet + 1 if message is None else 0
            if quiet * _POLL >= _PATIENCE and not follow:
                self._metadata()  # what is there must come, unless the servers are gone
                quiet = 0
            for place in consumer.position([self._kafka.TopicPartition(topic, number) for number in ends]):
                # Markers of transactions take offsets too, so the position counts, not the last record's.
                if place.offset >= ends[place.partition] or (
                    place.offset < 0 and self._at_end(places, place, bounds)
                ):
                    del ends[place.partition]

    def _at_end(self, places: list[Any], place: Any, bounds: Mapping[int, tuple[int, int]]) -> bool:
        """Whether a partition that has given nothing yet was begun at its end."""
        begun = next(p.offset for p in places if p.partition == place.partition)
        return begun in (self._kafka.OFFSET_END, END) or begun >= bounds[place.partition][1]

    def _of_group(self, consumer: Any, topic: str, follow: bool) -> Iterator[Record | None]:
        """As a member: until its share of what is there now is read, if not followed; None as above."""
        quiet, bounds, shares = 0, self._bounds(topic), list[Any]()
        consumer.subscribe([topic], on_assign=lambda _, share: shares.append(share))
        # Before it has a share it waits for the group, which may have to see first that another member is gone.
        while follow or quiet * _POLL < (_PATIENCE if shares else 3 * _PATIENCE):
            message = self._next(consumer)
            if message is None:
                quiet += 1
                if not follow and self._read_up(consumer, bounds):
                    return
                yield None
                continue
            quiet = 0
            yield record(message)
            consumer.commit(message, asynchronous=True)

    def _next(self, consumer: Any) -> Any:
        """The next message, if one comes in a moment; what the client can't mend by itself is raised."""
        message = consumer.poll(_POLL)
        error = message.error() if message is not None else None
        if error is None:
            return message
        if error.code() in self._refusals or error.fatal():
            raise SourceError(f"{self.servers} refuses: {error.str()}", where="kafka")
        return None

    def _read_up(self, consumer: Any, bounds: Mapping[int, tuple[int, int]]) -> bool:
        assigned = consumer.assignment()
        committed = consumer.committed(assigned, timeout=_PATIENCE) if assigned else []
        places = zip(consumer.position(assigned), committed, strict=True)
        offsets = {here.partition: max(here.offset, noted.offset) for here, noted in places}
        return bool(offsets) and all(offset >= bounds[number][1] for number, offset in offsets.items())

    def _await(self, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        """Wait until the topics are as they were made: a broker hears of it a moment after the one that was asked."""
        deadline = time.monotonic() + _PATIENCE
        while not holds(self._metadata()) and time.monotonic() < deadline:
            time.sleep(_PAUSE)

    def _done(self, futures: Mapping[str, Any], name: str) -> None:
        try:
            futures[name].result(_PATIENCE)
        except self._kafka.KafkaException as error:
            raise OptionError(f"topic `{name}`: {error.args[0].str()}", where="kafka topics") from error


def _led(topic: Any) -> bool:
    """Whether each partition of a topic has a broker that takes its records."""
    return all(partition.leader >= 0 for partition in topic.partitions.values())


def _silent() -> Any:
    import logging

    logger = logging.getLogger("headrace.kafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
