"""RabbitMQ against a private node: acknowledged once durable, confirms, dead-letter exchange, nothing lost."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pika
import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext, WriteContext
from headrace.connectors.rabbitmq.receiver import RabbitReceiver
from headrace.connectors.rabbitmq.sink import RabbitPublisher
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.devtools.ports import free_ports
from headrace.errors import DeliveryError, SourceError
from headrace.testing import delivery
from tests.support.rabbit_server import RabbitServer
from tests.support.receiving import receiving as running
from tests.support.receiving import records
from tests.support.waiting import wait_until

numbers = itertools.count()


@pytest.fixture(scope="module")
def broker() -> Iterator[RabbitServer]:
    place = Path(tempfile.mkdtemp(prefix="headrace-rabbitmq-"))
    server = RabbitServer(place)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def queue(broker: RabbitServer) -> str:
    """A durable queue of the test's own."""
    name = f"q{next(numbers)}"
    channel = broker.channel()
    channel.queue_declare(name, durable=True)
    channel.connection.close()
    return name


def publish(broker: RabbitServer, queue: str, *bodies: str | bytes, **properties: Any) -> None:
    channel = broker.channel()
    for body in bodies:
        channel.basic_publish("", queue, body, pika.BasicProperties(delivery_mode=2, **properties))
    channel.connection.close()


def waiting_in(broker: RabbitServer, queue: str) -> int:
    channel = broker.channel()
    count = channel.queue_declare(queue, passive=True).method.message_count
    channel.connection.close()
    return int(count)


def receiving(
    broker: RabbitServer, place: Path, queue: str, settings: LogSettings | None = None, **options: Any
) -> AbstractContextManager[WriteAheadLog]:
    return running(connect.rabbitmq(url=broker.url, queue=queue, **options), place, settings)


def messages(log: WriteAheadLog) -> list[tuple[str, dict[str, Any]]]:
    return [(record.value.decode(), json.loads(record.metadata)) for record in records(log)]


def values(log: WriteAheadLog) -> list[str]:
    return [value for value, _ in messages(log)]


def test_messages_are_stored_in_order_and_acknowledged(
    broker: RabbitServer, tmp_path: Path, queue: str
) -> None:
    publish(broker, queue, *(str(number) for number in range(50)), headers={"site": "n", "n": 1})
    with receiving(broker, tmp_path, queue, prefetch=7) as log:
        wait_until(lambda: log.end == 50)
        assert values(log) == [str(number) for number in range(50)]
        assert messages(log)[0][1]["headers"] == {"site": "n", "n": "1"}
        assert messages(log)[0][1]["routing_key"] == queue
    assert waiting_in(broker, queue) == 0


def test_message_that_was_not_durable_is_delivered_again_and_stored_once(
    broker: RabbitServer, tmp_path: Path, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(broker, queue, "a", message_id="1")
    with monkeypatch.context() as lost:
        lost.setattr("headrace.connectors.rabbitmq.receiver._Acknowledger.accept", lambda *_: None)
        with receiving(broker, tmp_path, queue) as log:
            wait_until(lambda: log.end == 1)
    publish(broker, queue, "b", message_id="1")  # a new message, whose publisher uses the id again
    with receiving(broker, tmp_path, queue) as log:
        wait_until(lambda: log.end == 2)
        assert values(log) == ["a", "b"]
        assert log.counters.duplicates == 1
    assert waiting_in(broker, queue) == 0


def test_backpressure_leaves_messages_in_the_queue(broker: RabbitServer, tmp_path: Path, queue: str) -> None:
    publish(broker, queue, *(["." * 1000] * 150))
    with receiving(broker, tmp_path, queue, LogSettings(limit=64_000), prefetch=10) as log:
        stored = 0
        while stored < 150:
            wait_until(lambda: log.end > stored)  # noqa: B023 - called at once
            stored = log.plan(stored, 1000)
            log.release(stored)
        assert log.counters.dropped == 0
    assert waiting_in(broker, queue) == 0


def test_dropped_messages_go_to_the_dead_letter_exchange(broker: RabbitServer, tmp_path: Path) -> None:
    channel = broker.channel()
    channel.exchange_declare("dead", "fanout", durable=True)
    channel.queue_declare("dead", durable=True)
    channel.queue_bind("dead", "dead")
    channel.exchange_declare("orders", "topic", durable=True)
    channel.connection.close()
    options = {"create": True, "dead_letter_exchange": "dead", "bindings": {"orders": ["eu.*"]}}
    settings = LogSettings(limit=64_000, overflow="drop_newest")
    with receiving(broker, tmp_path, "bound", settings, **options) as log:
        channel = broker.channel()
        for _ in range(100):
            channel.basic_publish("orders", "eu.fi", b"." * 1000)
        channel.basic_publish("orders", "us.ny", b"elsewhere")
        channel.connection.close()
        wait_until(lambda: log.counters.stored + log.counters.dropped == 100)
        stored = log.counters.stored
        assert 0 < stored < 100
        wait_until(lambda: waiting_in(broker, "dead") == 100 - stored)


def test_rows_are_published_with_computed_routing_keys(
    spark: SparkSession, broker: RabbitServer, tmp_path: Path, queue: str
) -> None:
    pipeline = Pipeline("alerts")
    rows = [{"severity": "high", "site": "n", "n": 1}, {"severity": "low", "site": "s", "n": 2}]
    source = pipeline.read("rows", connect.memory(rows=rows), schema="severity string, site string, n int")
    options: dict[str, Any] = {"exchange": "alerts", "routing_key": "{severity}", "headers": ["site"]}
    sink = connect.rabbitmq(url=broker.url, create=True, unroutable="drop", **options)
    source.write("out", sink)
    channel = broker.channel()
    channel.exchange_declare("alerts", "topic", durable=True)
    channel.queue_bind(queue, "alerts", "high")
    channel.connection.close()
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    read = Pipeline("read")
    out = connect.memory()
    queued = connect.rabbitmq(url=broker.url, queue=queue, metadata={"routing_key": "key", "headers": "sent"})
    read.read("rows", queued, format="json", schema="n int").write("out", out)
    read.run(until="caught_up", checkpoint=tmp_path / "read")
    assert [(row["n"], row["key"], dict(row["sent"])) for row in out.contents()] == [
        (1, "high", {"site": "n"})
    ]


def test_unroutable_message_is_an_error(broker: RabbitServer) -> None:
    sink = connect.rabbitmq(url=broker.url, exchange="", routing_key="{q}")
    publisher = RabbitPublisher(sink, WriteContext("p", "out", "c", "append", ""))
    publisher.open()
    with pytest.raises(
        DeliveryError, match="out: no queue is bound to exchange `` for routing key `nowhere`"
    ):
        publisher.publish([("nowhere", b"a", [])], 0)
    publisher.close()


def test_errors_name_the_broker_and_the_queue(broker: RabbitServer, tmp_path: Path) -> None:
    def start(**options: Any) -> None:
        source = connect.rabbitmq(**{"url": broker.url, "queue": "missing", **options})
        log = WriteAheadLog(tmp_path / "log")
        receiver = RabbitReceiver(source, ReadContext("p", "tx", None, None, ""))
        try:
            receiver.start(log)
        finally:
            receiver.stop()
            log.close()

    with pytest.raises(SourceError, match=r"tx: the queue `missing` at amqp://127(.|\n)*create=True"):
        start()
    with pytest.raises(SourceError, match=r"tx: the RabbitMQ broker at amqp://127\S+ refuses the login"):
        start(url=broker.url.replace("guest:guest", "guest:wrong"))
    port = free_ports(1)[0]
    with pytest.raises(
        SourceError, match=rf"no RabbitMQ broker answers at amqp://127\.0\.0\.1:{port}: .*refused"
    ):
        start(url=f"amqp://127.0.0.1:{port}/")


@pytest.mark.proof
def test_every_row_is_read_although_runs_and_the_broker_are_killed(broker: RabbitServer) -> None:
    def feed(trial: str) -> delivery.Feed:
        name = trial.replace(" ", "-")
        channel = broker.channel()
        channel.queue_declare(name, durable=True)
        channel.connection.close()

        def add(ids: Any) -> None:
            publish(broker, name, *(json.dumps({"id": number}) for number in ids))

        return delivery.Feed(connect.rabbitmq(url=broker.url, queue=name), add, format="json")

    def restart(_: delivery.Feed) -> None:
        broker.kill()
        broker.start()

    report = delivery.check_source(feed, disturbances={"the broker is killed": restart})
    assert report.lost == 0, str(report)


def test_sink_publishes_again_after_the_broker_was_killed(broker: RabbitServer, queue: str) -> None:
    sink = connect.rabbitmq(url=broker.url, exchange="", routing_key=queue)
    publisher = RabbitPublisher(sink, WriteContext("p", "out", "c", "append", ""))
    publisher.open()
    publisher.publish([(queue, b"a", [])], 0)
    broker.kill()
    restart = threading.Thread(target=broker.start)
    restart.start()
    publisher.publish([(queue, b"b", [])], 1)
    restart.join()
    publisher.close()
    assert waiting_in(broker, queue) == 2
