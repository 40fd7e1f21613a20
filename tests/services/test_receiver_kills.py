"""A source process that is killed again and again loses no message that was acknowledged to its sender.

`HEADRACE_KILLS=50 pytest tests/services/test_receiver_kills.py` kills more often than CI.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import paho.mqtt.client as paho
import pika
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from headrace.devtools import mosquitto
from headrace.devtools.kafka_server import free_ports
from tests.support.rabbit_server import RabbitServer
from tests.support.receiving import kill_receivers, start
from tests.support.waiting import PATIENCE

KILLS = int(os.environ.get("HEADRACE_KILLS", "3"))


@contextmanager
def publishing(broker: mosquitto.Broker, qos: int) -> Iterator[Callable[[int], bool]]:
    """Publish with a plain client; a message counts as sent when the broker has it."""
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()

    def send(number: int) -> bool:
        info = client.publish("kills", json.dumps({"id": number}), qos)
        info.wait_for_publish(PATIENCE)
        return info.is_published()

    yield send
    client.disconnect()
    client.loop_stop()


@pytest.mark.parametrize("qos", [1, 2])
def test_mqtt_loses_nothing(tmp_path: Path, qos: int) -> None:
    broker = mosquitto.start(tmp_path / "broker", port=0)
    options = {"url": broker.url, "topics": ["kills"], "qos": qos}
    try:
        with publishing(broker, qos) as send:
            first = start("mqtt", options, tmp_path / "source")  # the session begins
            first.kill()
            first.wait()
            first.stdout.close()
            numbers, acknowledged = kill_receivers("mqtt", options, tmp_path / "source", KILLS, send)
    finally:
        broker.stop()
    assert set(numbers) == acknowledged
    assert qos == 1 or len(numbers) == len(acknowledged)


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


def test_rabbitmq_loses_nothing() -> None:
    place = Path(tempfile.mkdtemp(prefix="headrace-rabbitmq-"))
    broker = RabbitServer(place)
    try:
        broker.start()
        channel = broker.channel()
        channel.queue_declare("kills", durable=True)

        def send(number: int) -> bool:
            properties = pika.BasicProperties(delivery_mode=2, message_id=str(number))
            channel.basic_publish("", "kills", json.dumps({"id": number}), properties)
            return True

        options = {"url": broker.url, "queue": "kills"}
        numbers, acknowledged = kill_receivers("rabbitmq", options, place / "source", KILLS, send)
        channel.connection.close()
    finally:
        broker.stop()
        shutil.rmtree(place, ignore_errors=True)
    assert numbers == sorted(acknowledged)
