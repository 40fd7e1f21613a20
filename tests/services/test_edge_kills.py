"""Processes and brokers that are killed lose no message, at sources that can't be replayed and at message sinks.

CI kills a few times; `python -m tests.services.test_edge_kills --kills 50` kills each source process, sink
process and broker that often.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import paho.mqtt.client as paho
import pika
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from headrace.devtools import mosquitto
from headrace.devtools.ports import free_ports
from tests.support.http_server import serving
from tests.support.mailbox import mailbox
from tests.support.rabbit_server import RabbitServer
from tests.support.receiving import kill_receivers, start, stored
from tests.support.sending import kill_senders
from tests.support.waiting import TIMEOUT, wait_until

KILLS = int(os.environ.get("HEADRACE_KILLS", "3"))


@contextmanager
def publishing(broker: mosquitto.Broker, qos: int) -> Iterator[Callable[[int], bool]]:
    """Publish with a plain client; a message counts as sent when the broker has it."""
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()

    def send(number: int) -> bool:
        info = client.publish("kills", json.dumps({"id": number}), qos)
        info.wait_for_publish(TIMEOUT)
        return info.is_published()

    yield send
    client.disconnect()
    client.loop_stop()


@contextmanager
def rabbit() -> Iterator[tuple[RabbitServer, Path]]:
    place = Path(tempfile.mkdtemp(prefix="headrace-rabbitmq-"))
    broker = RabbitServer(place)
    try:
        broker.start()
        yield broker, place
    finally:
        broker.stop()
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def receiver(kind: str, options: dict[str, Any], place: Path) -> Iterator[None]:
    """Run a source process inside the block."""
    process = start(kind, options, place)
    try:
        yield
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("qos", [1, 2])
def test_mqtt_source_loses_nothing(tmp_path: Path, qos: int) -> None:
    broker = mosquitto.start(tmp_path / "broker", port=0)
    options = {"url": broker.url, "topics": ["kills"], "qos": qos}
    try:
        with publishing(broker, qos) as send:
            with receiver("mqtt", options, tmp_path / "source"):
                pass  # the session begins
            numbers, acknowledged = kill_receivers("mqtt", options, tmp_path / "source", KILLS, send)
    finally:
        broker.stop()
    assert set(numbers) == acknowledged
    assert qos == 1 or len(numbers) == len(acknowledged)


def test_mqtt_source_loses_nothing_when_the_broker_is_killed(tmp_path: Path) -> None:
    """A killed mosquitto loses what it has not saved: the kill comes after the source has the message."""
    broker = mosquitto.start(tmp_path / "broker", port=0)
    place, options = tmp_path / "source", {"url": broker.url, "topics": ["kills"]}
    try:
        with receiver("mqtt", options, place):
            for number in range(KILLS):
                with publishing(broker, 1) as send:
                    assert send(number)
                wait_until(lambda: number in stored(place))  # noqa: B023 - called at once
                broker.kill()
                broker.start()
            with publishing(broker, 1) as send:
                assert send(KILLS)
            wait_until(lambda: set(stored(place)) == set(range(KILLS + 1)))
    finally:
        broker.stop()


def test_http_push_loses_nothing_and_stores_keyed_requests_once(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"

    def send(number: int) -> bool:
        """Repeat a request that is not answered once, with the same key."""
        for _ in range(2):
            with suppress(httpx.TransportError):
                key = {"Idempotency-Key": str(number)}
                answer = httpx.post(f"http://{address}/", json={"id": number}, headers=key, timeout=10)
                return answer.status_code == 202
        return False

    numbers, acknowledged = kill_receivers("http", {"listen": address}, tmp_path, KILLS, send)
    assert acknowledged <= set(numbers)
    assert len(numbers) == len(set(numbers))


def test_rabbitmq_source_and_sink_lose_nothing() -> None:
    with rabbit() as (broker, place):
        channel = broker.channel()
        channel.queue_declare("kills", durable=True)

        def send(number: int) -> bool:
            properties = pika.BasicProperties(delivery_mode=2, message_id=str(number))
            channel.basic_publish("", "kills", json.dumps({"id": number}), properties)
            return True

        options = {"url": broker.url, "queue": "kills"}
        numbers, acknowledged = kill_receivers("rabbitmq", options, place / "source", KILLS, send)
        channel.queue_declare("sent", durable=True)
        to = {"url": broker.url, "exchange": "", "routing_key": "sent"}
        expected = kill_senders("rabbitmq", to, place / "sink", KILLS)
        actual = set(Queue(channel, "sent").numbers())
        channel.connection.close()
        assert numbers == sorted(acknowledged)
        assert expected <= actual


def test_rabbitmq_source_loses_nothing_when_the_node_is_killed() -> None:
    numbers = set(range(-(-KILLS // 3)))  # a node takes seconds to start
    with rabbit() as (broker, place):
        channel = broker.channel()
        channel.queue_declare("kills", durable=True)
        channel.connection.close()
        with receiver("rabbitmq", {"url": broker.url, "queue": "kills"}, place / "source"):
            for number in numbers:
                channel = broker.channel()
                properties = pika.BasicProperties(delivery_mode=2)
                channel.basic_publish("", "kills", json.dumps({"id": number}), properties)
                channel.connection.close()
                broker.kill()  # after it has confirmed the message
                broker.start()
            wait_until(lambda: numbers <= set(stored(place / "source")))


NONE = (None, None, None)
"""The answer of an empty queue."""


def test_mqtt_sink_loses_nothing(tmp_path: Path) -> None:
    broker = mosquitto.start(tmp_path / "broker", port=0)
    try:
        with receiver("mqtt", {"url": broker.url, "topics": ["kills"], "qos": 2}, tmp_path / "source"):
            options = {"url": broker.url, "topic": "kills", "qos": 1}
            expected = kill_senders("mqtt", options, tmp_path / "sink", KILLS)
            wait_until(lambda: expected <= set(stored(tmp_path / "source")))
    finally:
        broker.stop()


def test_webhook_loses_nothing_and_its_keys_remove_duplicates(tmp_path: Path) -> None:
    requests: dict[str, list[int]] = {}

    async def accept(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            body = (await receive())["body"]
            key = dict(scope["headers"])[b"idempotency-key"].decode()
            requests[key] = [row["id"] for row in json.loads(body)]
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    with serving(accept) as url:
        expected = kill_senders("webhook", {"url": url, "batch": 3}, tmp_path, KILLS)
    numbers = [number for rows in requests.values() for number in rows]
    assert expected <= set(numbers)
    assert len(numbers) == len(set(numbers))


def test_smtp_loses_nothing_when_senders_and_servers_end(tmp_path: Path) -> None:
    with mailbox() as box:

        def restart() -> None:
            box.stop()
            box.start()

        options = {"host": "127.0.0.1", "port": box.port, "from": "a@b", "to": ["c@d"], "subject": "row"}
        expected = kill_senders("smtp", options, tmp_path, KILLS, restart)
        assert expected <= set(map(int, box.texts()))


class Queue:
    """The numbers of a queue; messages that were read are remembered."""

    def __init__(self, channel: Any, name: str) -> None:
        self._channel, self._name = channel, name
        self._numbers: list[int] = []

    def numbers(self) -> list[int]:
        for _, _, body in iter(lambda: self._channel.basic_get(self._name, True), NONE):
            self._numbers.append(json.loads(body)["id"])
        return self._numbers


def main() -> None:
    """Kill each process and broker many times."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", default="", help="part of the name of a test")
    words = parser.parse_args()
    files = [__file__, str(Path(__file__).with_name("test_edge_jobs.py"))]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        *files,
        "-m",
        "",
        "-k",
        words.only,
    ]
    settings = {**os.environ, "HEADRACE_KILLS": str(words.kills)}
    # In a process of its own: pytest has to import the package first.
    sys.exit(subprocess.run(command, env=settings, check=False).returncode)


if __name__ == "__main__":
    main()
