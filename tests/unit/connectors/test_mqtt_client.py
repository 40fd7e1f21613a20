"""`DurableClient`: the required methods of paho, and parsing without a broker."""

from __future__ import annotations

import socket

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from headrace.connectors.mqtt.client import Delivery, DurableClient, check_paho
from headrace.errors import SetupError

PUBLISH = b"\x32\x07\x00\x01t\x00%con"
"""A message of QoS 1 to the topic `t`; its packet id is a single character."""


def test_a_paho_without_the_private_methods_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_paho()
    monkeypatch.delattr(paho.Client, "_send_pubrec")
    with pytest.raises(SetupError, match=r"no `_send_pubrec`.*\n.*paho-mqtt>=2\.1,<3"):
        check_paho()


def test_packets_of_one_read_are_delivered_in_order_and_not_acknowledged() -> None:
    client = DurableClient(CallbackAPIVersion.VERSION2)
    deliveries: list[Delivery] = []
    client.on_delivery = deliveries.append
    broker, client._sock = socket.socketpair()
    with broker, client._sock:
        broker.sendall(b"".join(PUBLISH.replace(b"%c", bytes([number])) for number in range(1, 51)))
        client.loop_read()
        broker.setblocking(False)
        with pytest.raises(BlockingIOError):
            broker.recv(1)
        client.acknowledge(deliveries[0])
        assert broker.recv(4) == b"\x40\x02\x00\x01"
    assert [delivery.packet_id for delivery in deliveries] == list(range(1, 51))
    assert {(delivery.topic, delivery.payload) for delivery in deliveries} == {("t", b"on")}
