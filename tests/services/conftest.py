"""Servers that tests talk to, each started once for the run, on free ports, with the data in a temporary directory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from headrace.connectors.kafka.client import Client
from headrace.engine import kafka_server

QUICK = {
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
}
_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka_server.Cluster]:
    """One Kafka broker."""
    cluster = kafka_server.start(
        tmp_path_factory.mktemp("kafka"), port=0, logins={"reader": "right"}, settings=QUICK
    )
    yield cluster
    if (
        running := kafka_server.running_cluster(cluster.directory)
    ) is not None:  # a test may have started it again
        running.stop(patience=10)


@pytest.fixture(scope="session")
def client(broker: kafka_server.Cluster) -> Client:
    """A client of the broker, without Spark."""
    return Client(broker.servers)


@pytest.fixture
def topic(client: Client) -> Callable[..., str]:
    """Makes a topic with records in it: a list is round robin without keys, a mapping is partition to (key, value)."""

    def made(
        *values: str | tuple[str | None, str | None], partitions: int = 1, name: str = "", **settings: str
    ) -> str:
        chosen = name or f"t{next(_numbers)}"
        client.create(chosen, partitions=partitions, settings=settings)
        client.produce(chosen, [value if isinstance(value, tuple) else (None, value) for value in values])
        return chosen

    return made
