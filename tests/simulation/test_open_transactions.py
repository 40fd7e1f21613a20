"""The ledger of a Kafka sink behind an open transaction of another pipeline."""

from __future__ import annotations

import math
from random import Random
from typing import Any, cast

import pytest

from headrace.connectors.kafka import Kafka
from headrace.connectors.kafka.ledger import LedgerTopic
from headrace.connectors.kafka.subscription import LEDGER
from headrace.errors import DeliveryError
from tests.simulation import kafka
from tests.simulation.run import install
from tests.simulation.world import Process, World, activate


def test_a_transaction_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "TRANSACTION_TIMEOUT", math.inf)
    world, broker = World(Random(0)), kafka.Broker()
    activate(world)
    kafka.use_broker(broker)
    process = Process(world, "run", "machine")
    sink = Kafka(servers="simulated:9092", topic="alerts")
    topic = LedgerTopic(cast("Any", None), sink, ("fraud", "out", "alerts"), None)
    broker.leave_open(LEDGER)
    broker.partitions[LEDGER].append(kafka.Record(topic._key, b"{}", "committed"))

    def read() -> None:
        topic.read()

    process.start_thread(read)
    with install(lambda: bytes(16)):
        world.run(lambda: not process.alive)
    assert isinstance(process.failure, DeliveryError)
    message = "out: a transaction of another pipeline is open in the topic `_headrace_ledger`\n  hint: wait for its timeout"
    assert str(process.failure).startswith(message)
