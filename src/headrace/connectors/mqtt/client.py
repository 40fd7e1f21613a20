"""paho's client with late acknowledgements, sent once a message is durable, and with buffered reads.

The connection, reconnects, subscriptions and outgoing messages are paho's. See docs/design/mqtt-client.md for
the measurements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import paho.mqtt.client as paho
from paho.mqtt import MQTTException
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.errors import SetupError

_READ_BYTES = 65_536
_UINT16 = struct.Struct("!H")
MAX_IN_FLIGHT = 20
"""The maximum number of messages that are sent before the first of them is acknowledged: mosquitto's limit at
QoS 2, which MQTT 3.1.1 does not announce, and beyond which it drops messages."""
_PRIVATE = "_handle_publish", "_sock_recv", "_send_puback", "_send_pubrec"


class Delivery(NamedTuple):
    """A message as the broker delivers it."""

    topic: str
    payload: bytes
    qos: int
    retained: bool
    duplicate: bool
    packet_id: int
    properties: Properties | None


class DurableClient(paho.Client):
    """A client that acknowledges a message only when `acknowledge` is called.

    paho's public `manual_ack` covers QoS 1 only. It confirms a QoS 2 message (PUBREC) on arrival, after which
    the broker removes it; a process that dies then loses the message. Here PUBREC waits as well.

    Received bytes are buffered, and messages are parsed here: paho reads a packet with three system calls,
    waits for the socket after each packet, and creates a lock and a table of all properties per message.

    The overridden methods are private in paho 2: `check_paho` looks for them before the first connection.
    """

    on_delivery: Callable[[Delivery], None]
    """Called with each message, in the thread of the client."""
    _unread = memoryview(b"")
    _unread_of: object = None
    """The socket that the unread bytes were received from."""

    def acknowledge(self, delivery: Delivery) -> None:
        """Acknowledge a message of the present connection."""
        if delivery.qos == 1:
            self._send_puback(delivery.packet_id)
        elif delivery.qos == 2:
            self._send_pubrec(delivery.packet_id)

    def limit_in_flight(self, receive_maximum: int) -> None:
        """Send at most as many unacknowledged messages as the broker accepts."""
        # paho's public setter cannot be used on an open connection, and CONNACK has the broker's limit.
        self._max_inflight_messages = min(receive_maximum, MAX_IN_FLIGHT)

    def _handle_publish(self) -> MQTTErrorCode:
        try:
            delivery = parse_publish(
                self._in_packet["command"], bytes(self._in_packet["packet"]), self._protocol == paho.MQTTv5
            )
        except (struct.error, IndexError, ValueError, MQTTException):
            return MQTTErrorCode.MQTT_ERR_PROTOCOL
        self.on_delivery(delivery)
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _sock_recv(self, bufsize: int) -> bytes:
        if not self._unread or self._unread_of is not self._sock:
            self._unread, self._unread_of = memoryview(super()._sock_recv(_READ_BYTES)), self._sock
        part, self._unread = self._unread[:bufsize], self._unread[bufsize:]
        return bytes(part)

    def loop_read(self, max_packets: int = 1) -> MQTTErrorCode:
        """Process all packets that were received."""
        result = super().loop_read(max_packets)
        while self._unread and result == MQTTErrorCode.MQTT_ERR_SUCCESS and self._unread_of is self._sock:
            result = super().loop_read(max_packets)
        return result


def check_paho() -> None:
    """Check that paho has the private methods that `DurableClient` overrides or calls.

    Raises:
        SetupError: another version of paho is installed. Without these methods messages would be acknowledged
            before they are durable, so there is nothing to fall back to.
    """
    if missing := [name for name in _PRIVATE if not callable(getattr(paho.Client, name, None))]:
        raise SetupError(
            f"paho-mqtt {version('paho-mqtt')} has no `{missing[0]}`, which acknowledgements need",
            where="mqtt",
            hint="pip install 'paho-mqtt>=2.1,<3'",
        )


def parse_publish(command: int, packet: bytes, has_properties: bool) -> Delivery:
    r"""Parse a PUBLISH packet without its fixed header.

    >>> parse_publish(0x33, b"\0\x01t\0\x07\0on", True).payload
    b'on'
    """
    qos = command >> 1 & 3
    offset = 2 + _UINT16.unpack_from(packet)[0]
    topic, packet_id, properties = packet[2:offset].decode(errors="replace"), 0, None
    if qos:
        (packet_id,) = _UINT16.unpack_from(packet, offset)
        offset += _UINT16.size
    if has_properties and packet[offset]:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        offset += properties.unpack(packet[offset:])[1]  # type: ignore[no-untyped-call]
    elif has_properties:
        offset += 1
    return Delivery(topic, packet[offset:], qos, bool(command & 1), bool(command & 8), packet_id, properties)
