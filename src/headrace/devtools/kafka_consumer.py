"""The loops of the terminal's consumer: from given offsets, or as a member of a consumer group.

Both yield None while no record arrives, so that the caller can stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.devtools.kafka_records import Bounds, Record, parse_message
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.devtools.kafka_client import Client

_POLL_SECONDS = 0.2
_IDLE_SECONDS = 10.0
"""Seconds without a record after which the servers are checked, or a group member stops."""


def consume_partitions(
    client: Client, consumer: Any, topic: str, positions: list[Any], follow: bool
) -> Iterator[Record | None]:
    """Yield the records from the given offsets to the current ends of the partitions, or without end."""
    import confluent_kafka

    consumer.assign(positions)
    bounds, idle_polls = client.bounds(topic), 0
    starts = {position.partition: position.offset for position in positions}
    ends = {number: high for number, (low, high) in bounds.items() if number in starts and high > low}
    while follow or ends:
        message = _poll(client, consumer)
        yield None if message is None else parse_message(message)
        idle_polls = idle_polls + 1 if message is None else 0
        if idle_polls * _POLL_SECONDS >= _IDLE_SECONDS and not follow:
            client.check_available()  # the records exist, so only an unavailable server can withhold them
            idle_polls = 0
        # Transaction markers take offsets too, so the position decides, not the offset of the last record.
        for position in consumer.position([confluent_kafka.TopicPartition(topic, number) for number in ends]):
            start, end = starts[position.partition], ends[position.partition]
            at_end = start in (confluent_kafka.OFFSET_END, -1) or start >= end
            if position.offset >= end or (position.offset < 0 and at_end):
                del ends[position.partition]


def consume_as_member(client: Client, consumer: Any, topic: str, follow: bool) -> Iterator[Record | None]:
    """Yield and commit the records of the group's partitions, to their current ends unless `follow`."""
    idle_polls, bounds, assigned = 0, client.bounds(topic), list[Any]()
    consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.append(partitions))
    # The first assignment may have to wait until the group has removed a member that died.
    while follow or idle_polls * _POLL_SECONDS < (_IDLE_SECONDS if assigned else 3 * _IDLE_SECONDS):
        message = _poll(client, consumer)
        if message is None:
            idle_polls += 1
            if not follow and _at_end(consumer, bounds):
                return
            yield None
            continue
        idle_polls = 0
        yield parse_message(message)
        consumer.commit(message, asynchronous=True)


def _poll(client: Client, consumer: Any) -> Any:
    """Return the next message, or None; raise the errors that the client cannot recover from."""
    from confluent_kafka import KafkaError

    message = consumer.poll(_POLL_SECONDS)
    error = message.error() if message is not None else None
    if error is None:
        return message
    denied = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)
    if error.code() in denied or error.fatal():
        raise SourceError(f"{client.servers} refuses: {error.str()}", where="kafka")
    return None


def _at_end(consumer: Any, bounds: Bounds) -> bool:
    """Return True if the member has read all its partitions up to their bounds."""
    assigned = consumer.assignment()
    committed = consumer.committed(assigned, timeout=_IDLE_SECONDS) if assigned else []
    positions = zip(consumer.position(assigned), committed, strict=True)
    offsets = {position.partition: max(position.offset, stored.offset) for position, stored in positions}
    return bool(offsets) and all(offset >= bounds[number][1] for number, offset in offsets.items())
