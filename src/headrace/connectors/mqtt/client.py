"""A connection to a broker: paho's client, with acknowledgements that wait until a message is durable."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import paho.mqtt.client as paho
from paho.mqtt import MQTTException
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.connectors.network.tls import client_context
from headrace.durations import microseconds
from headrace.errors import SetupError

if TYPE_CHECKING:
    from paho.mqtt.reasoncodes import ReasonCode

    from headrace.connectors.mqtt import Mqtt

CONNECT_SECONDS = 10.0
_MAX_BACKOFF_SECONDS = 30
_MAX_EXPIRY = 0xFFFFFFFF
_BUFFER = 65_536
_IN_FLIGHT = 20
"""The number of messages that are sent before the first of them is acknowledged: mosquitto's limit at QoS 2,
which MQTT 3.1.1 does not announce, and beyond which it drops messages."""
_NUMBER = struct.Struct("!H")
_PRIVATE = "_handle_publish", "_sock_recv", "_send_puback", "_send_pubrec"
_RETRY = ("Server unavailable", "Server busy", "Unspecified error", "Connection rate exceeded", "Keep alive")
"""Reasons after which a connection may succeed later."""


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

    paho's `manual_ack` covers QoS 1 only. It confirms a QoS 2 message (PUBREC) on arrival, after which the
    broker forgets it; a process that dies then loses the message. Here PUBREC waits as well.

    Received bytes are buffered, and messages are parsed here: paho reads a packet with three system calls,
    waits for the socket after each of them, and creates a lock and a table of all properties per message. The
    overridden methods are private in paho 2: `check_paho` looks for them before the first connection, and
    tests against a broker cover them.
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
        self._max_inflight_messages = min(receive_maximum, _IN_FLIGHT)

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
            self._unread, self._unread_of = memoryview(super()._sock_recv(_BUFFER)), self._sock
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
    place = 2 + _NUMBER.unpack_from(packet)[0]
    topic, packet_id, properties = packet[2:place].decode(errors="replace"), 0, None
    if qos:
        (packet_id,) = _NUMBER.unpack_from(packet, place)
        place += _NUMBER.size
    if has_properties and packet[place]:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        place += properties.unpack(packet[place:])[1]  # type: ignore[no-untyped-call]
    elif has_properties:
        place += 1
    return Delivery(topic, packet[place:], qos, bool(command & 1), bool(command & 8), packet_id, properties)


class BrokerConnection:
    """Connects to a broker, and reconnects with backoff until it is closed."""

    def __init__(self, options: Mqtt, client_id: str, *, persistent: bool) -> None:
        self.options, self.address = options, options.address
        self.generation = 0
        """The number of connections so far; packet ids are valid within one of them."""
        self.refused = ""
        """The reason for which the broker refused the connection; empty if it did not."""
        self.connected = threading.Event()
        self.lost_at: float | None = None
        """The time at which the connection broke; None while it exists."""
        self.on_connect: Callable[[bool], None] = lambda session_present: None
        """Called after each connect, with True if the broker has a session."""
        self._persistent = persistent
        self.client = self._client(client_id)

    def open(self) -> None:
        """Connect and wait for the answer.

        Raises:
            OSError: no broker answers.
            ConnectionRefusedError: the broker refuses the connection.
        """
        keepalive = max(int(microseconds(self.options.keepalive) / 1e6), 1)
        extra: dict[str, Any] = {"properties": self._connect_properties()}
        if self.options.version == "5":
            extra["clean_start"] = not self._persistent
        if self.address.secure:
            self._check_tls()
        self.client.connect_timeout = CONNECT_SECONDS
        self.client.connect(self.address.host, self.address.port, keepalive, **extra)
        self.client.loop_start()
        deadline = time.monotonic() + CONNECT_SECONDS
        while not self.connected.wait(0.05):
            if self.refused or time.monotonic() > deadline:
                self.close()
                raise ConnectionRefusedError(self.refused or "the broker does not answer")

    def close(self) -> None:
        """Disconnect and end the thread."""
        self.client.disconnect()
        self.client.loop_stop()

    @property
    def unavailable_seconds(self) -> float:
        """The time since the connection broke; 0 while it exists."""
        return 0.0 if self.lost_at is None else time.monotonic() - self.lost_at

    def _client(self, client_id: str) -> DurableClient:
        check_paho()
        five = self.options.version == "5"
        client = DurableClient(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=None if five else not self._persistent,
            protocol=paho.MQTTv5 if five else paho.MQTTv311,
        )
        if self.address.user is not None:
            client.username_pw_set(self.address.user, self.address.password)
        if self.address.secure:
            client.tls_set_context(client_context(self.options.tls))
        client.reconnect_delay_set(1, _MAX_BACKOFF_SECONDS)
        client.on_connect, client.on_disconnect = self._connect, self._disconnect
        client.on_socket_open, client.on_delivery = _send_at_once, lambda _: None
        return client

    def _check_tls(self) -> None:
        """Try the handshake: paho leaves the socket open if it fails."""
        place, context = (self.address.host, self.address.port), client_context(self.options.tls)
        with socket.create_connection(place, CONNECT_SECONDS) as plain:
            context.wrap_socket(plain, server_hostname=self.address.host).close()

    def _connect_properties(self) -> Properties | None:
        if self.options.version != "5":
            return None
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        if self._persistent:
            seconds = int(microseconds(self.options.session_expiry) / 1e6)
            properties.SessionExpiryInterval = min(max(seconds, 1), _MAX_EXPIRY)
        return properties

    def _connect(
        self, client: paho.Client, _: Any, flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            if not str(reason).startswith(_RETRY):
                self.refused = str(reason)
            return
        self.generation += 1
        self.client.limit_in_flight(getattr(properties, "ReceiveMaximum", _IN_FLIGHT))
        self.lost_at, self.refused = None, ""
        self.on_connect(bool(flags.session_present))
        self.connected.set()

    def _disconnect(self, *_: Any) -> None:
        self.connected.clear()
        if self.lost_at is None:
            self.lost_at = time.monotonic()


def _send_at_once(_: paho.Client, __: Any, connection: Any) -> None:
    """Switch off Nagle's algorithm: acknowledgements are small, and would wait for those of TCP."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
