"""An MQTT client for the terminal."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headrace.connectors.base import WriteContext
from headrace.connectors.extras import require_package
from headrace.connectors.mqtt import Mqtt
from headrace.connectors.templates import template_format
from headrace.errors import OptionError


@dataclass(frozen=True)
class Received:
    """A message as the terminal shows it."""

    topic: str
    payload: str
    qos: int
    retained: bool


def publish(options: Mqtt, payloads: Iterable[bytes]) -> int:
    """Publish payloads to the topic of a sink and return their number, once the broker has acknowledged all.

    Raises:
        DeliveryError: no broker answers, or it refuses the connection or a message.
    """
    require_package("paho", extra="mqtt")
    from headrace.connectors.mqtt.sink import MqttPublisher

    publisher = MqttPublisher(options, WriteContext("terminal", "mqtt", "", "append", ""))
    count, topic = 0, template_format(options.topic or "", ()).format()

    def messages() -> Iterator[tuple[str, bytes, list[str]]]:
        nonlocal count
        for payload in payloads:
            count += 1
            yield topic, payload, []

    publisher.open()
    try:
        publisher.publish(messages(), 0)
    finally:
        publisher.close()
    return count


def subscribe(options: Mqtt, ended: Callable[[], bool]) -> Iterator[Received]:
    """Yield the messages of the filters of a source, until `ended` returns True.

    Raises:
        OptionError: no broker answers, or it refuses the connection.
    """
    require_package("paho", extra="mqtt")
    from headrace.connectors.mqtt.address import describe_failure
    from headrace.connectors.mqtt.client import Delivery
    from headrace.connectors.mqtt.connection import BrokerConnection

    messages: queue.SimpleQueue[Received] = queue.SimpleQueue()
    connection = BrokerConnection(options, options.client_id or "", persistent=False)

    def receive(delivery: Delivery) -> None:
        text = delivery.payload.decode(errors="replace")
        messages.put(Received(delivery.topic, text, delivery.qos, delivery.retained))
        connection.client.acknowledge(delivery)

    connection.client.on_delivery = receive
    filters = [(topic, options.qos) for topic in options.topics]
    connection.on_connect = lambda _: connection.client.subscribe(filters) and None
    try:
        connection.open()
    except OSError as error:
        problem = describe_failure(error, connection.address, "mqtt sub")
        raise OptionError.of(problem) from error
    try:
        while not ended():
            try:
                yield messages.get(timeout=0.1)
            except queue.Empty:
                continue
    finally:
        connection.close()
