"""A connection to a broker: paho's client, with acknowledgements that wait until a message is durable."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.connectors.network.tls import client_context
from headrace.durations import microseconds

if TYPE_CHECKING:
    from paho.mqtt.reasoncodes import ReasonCode

    from headrace.connectors.mqtt import Mqtt

CONNECT_SECONDS = 10.0
_MAX_BACKOFF_SECONDS = 30
_MAX_EXPIRY = 0xFFFFFFFF
_RETRY = ("Server unavailable", "Server busy", "Unspecified error", "Connection rate exceeded", "Keep alive")
"""Reasons after which a connection may succeed later."""


class DurableClient(paho.Client):
    """A client that acknowledges a message only when `acknowledge` is called.

    paho's `manual_ack` covers QoS 1 only. It confirms a QoS 2 message (PUBREC) on arrival, after which the
    broker forgets it; a process that dies then loses the message. Here PUBREC waits as well, and the
    message is passed on at once. The methods are private in paho 2; tests against a broker cover them.
    """

    def _send_puback(self, mid: int) -> MQTTErrorCode:
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _send_pubrec(self, mid: int) -> MQTTErrorCode:
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _handle_publish(self) -> MQTTErrorCode:
        result = super()._handle_publish()
        while self._in_messages:  # QoS 2: paho would pass it on after PUBREL
            _, message = self._in_messages.popitem(last=False)
            self._handle_on_message(message)
        return result

    def acknowledge(self, message: paho.MQTTMessage) -> None:
        """Acknowledge a message of the present connection."""
        if message.qos == 1:
            super()._send_puback(message.mid)
        elif message.qos == 2:
            super()._send_pubrec(message.mid)


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

    def _connect(self, client: paho.Client, _: Any, flags: Any, reason: ReasonCode, __: Any) -> None:
        if reason.is_failure:
            if not str(reason).startswith(_RETRY):
                self.refused = str(reason)
            return
        self.generation += 1
        self.lost_at, self.refused = None, ""
        self.on_connect(bool(flags.session_present))
        self.connected.set()

    def _disconnect(self, *_: Any) -> None:
        self.connected.clear()
        if self.lost_at is None:
            self.lost_at = time.monotonic()
