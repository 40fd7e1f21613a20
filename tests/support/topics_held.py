"""What a topic holds when its transactions have come to their end."""

from __future__ import annotations

import time

from headrace.connectors.kafka.client import Client
from headrace.connectors.kafka.shown import Record


def settle(client: Client, topic: str, seconds: float = 120) -> None:
    """Wait until no transaction is under way in a topic.

    The broker answers a commit before it has marked the records as committed; for that moment readers don't see them.
    """
    everything = Client(client.servers, {"isolation.level": "read_uncommitted"})
    deadline = time.monotonic() + seconds
    while client._bounds(topic) != everything._bounds(topic):
        assert time.monotonic() < deadline, f"a transaction in {topic} has no end"


def held(client: Client, topic: str) -> list[Record]:
    """All committed records of a topic in which no transaction is left open."""
    settle(client, topic)
    return list(client.consume(topic))
