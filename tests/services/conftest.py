"""Servers that tests talk to, each started once for the run, on free ports, with the data in a temporary directory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from tests.support.certificates import create_certificate
from tests.support.servers import Server, started

QUICK = {
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
}
_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka_server.Cluster]:
    """One Kafka broker, with ports that want a login or TLS too."""
    place = tmp_path_factory.mktemp("kafka")
    cluster = kafka_server.start(
        place, port=0, logins={"reader": "right"}, certificate=_certificate(place), settings=QUICK
    )
    yield cluster
    running = kafka_server.running_cluster(place)  # a test may have started it again
    if running is not None:
        running.stop(timeout=10)


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Server]]:
    """Start PostgreSQL and MariaDB on first use."""
    with ExitStack() as running:
        yield cache(lambda kind: running.enter_context(started(kind)))


@pytest.fixture(scope="session")
def client(broker: kafka_server.Cluster) -> Client:
    """A client of the broker, without Spark."""
    return Client(broker.servers)


def _certificate(place: Path) -> Path:
    """Return a file with a key and a certificate; `ca.pem` beside it is trusted by clients."""
    certificate, key = create_certificate(place)
    both = place / "server.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


@pytest.fixture
def topic(client: Client) -> Callable[..., str]:
    """Makes a topic with records in it.

    A list is round robin without keys, a mapping is partition to (key, value).
    """

    def made(
        *values: str | tuple[str | None, str | None], partitions: int = 1, name: str = "", **settings: str
    ) -> str:
        chosen = name or f"t{next(_numbers)}"
        client.create(chosen, partitions=partitions, settings=settings)
        client.produce(chosen, [value if isinstance(value, tuple) else (None, value) for value in values])
        return chosen

    return made
