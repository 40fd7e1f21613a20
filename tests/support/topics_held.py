"""Records of a topic after its transactions have ended."""

from __future__ import annotations

from headrace.devtools.kafka_client import Client
from headrace.devtools.kafka_records import Record
from tests.support.waiting import wait_until


def settle(client: Client, topic: str) -> None:
    """Wait until no transaction is under way in a topic.

    The broker answers a commit before it has marked the records as committed; for that moment readers don't
    see them.
    """
    everything = Client(client.servers, {"isolation.level": "read_uncommitted"})
    wait_until(lambda: client.bounds(topic) == everything.bounds(topic))


def held(client: Client, topic: str) -> list[Record]:
    """All committed records of a topic in which no transaction is left open."""
    settle(client, topic)
    return list(client.consume(topic))
