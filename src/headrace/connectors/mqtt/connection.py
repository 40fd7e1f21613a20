"""A connection to a broker: login, TLS, session, and reconnects with backoff."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.connectors.mqtt.client import MAX_IN_FLIGHT, DurableClient, check_paho
from headrace.connectors.network.tls import client_context
from headrace.connectors.options import seconds_of

if TYPE_CHECKING:
    from paho.mqtt.reasoncodes import ReasonCode

    from headrace.connectors.mqtt import Mqtt

_CONNECT_SECONDS = 10.0
_MAX_BACKOFF_SECONDS = 30
_MAX_EXPIRY = 0xFFFFFFFF
_TEMPORARY = (
    "Server unavailable",
    "Server busy",
    "Unspecified error",
    "Connection rate exceeded",
    "Keep alive",
)
"""Reasons after which a connection may succeed later."""


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
        self.client = self._create_client(client_id)

    def open(self) -> None:
        """Connect and wait for the acknowledgement of the broker (CONNACK).

        Raises:
            OSError: no broker answers.
            ConnectionRefusedError: the broker refuses the connection.
        """
        keepalive = max(int(seconds_of(self.options.keepalive)), 1)
        extra: dict[str, Any] = {"properties": self._connect_properties()}
        if self.options.version == "5":
            extra["clean_start"] = not self._persistent
        if self.address.secure:
            self._check_tls()
        self.client.connect_timeout = _CONNECT_SECONDS
        self.client.connect(self.address.host, self.address.port, keepalive, **extra)
        self.client.loop_start()
        deadline = time.monotonic() + _CONNECT_SECONDS
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

    def _create_client(self, client_id: str) -> DurableClient:
        check_paho()
        is_v5 = self.options.version == "5"
        client = DurableClient(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=None if is_v5 else not self._persistent,
            protocol=paho.MQTTv5 if is_v5 else paho.MQTTv311,
        )
        if self.address.user is not None:
            client.username_pw_set(self.address.user, self.address.password)
        if self.address.secure:
            client.tls_set_context(client_context(self.options.tls))
        client.reconnect_delay_set(1, _MAX_BACKOFF_SECONDS)
        client.on_connect, client.on_disconnect = self._handle_connect, self._handle_disconnect
        client.on_socket_open, client.on_delivery = _disable_nagle, lambda _: None
        return client

    def _check_tls(self) -> None:
        """Try the handshake: paho leaves the socket open if it fails."""
        server, context = (self.address.host, self.address.port), client_context(self.options.tls)
        with socket.create_connection(server, _CONNECT_SECONDS) as plain:
            context.wrap_socket(plain, server_hostname=self.address.host).close()

    def _connect_properties(self) -> Properties | None:
        if self.options.version != "5":
            return None
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        if self._persistent:
            seconds = int(seconds_of(self.options.session_expiry))
            properties.SessionExpiryInterval = min(max(seconds, 1), _MAX_EXPIRY)
        return properties

    def _handle_connect(
        self, client: paho.Client, _: Any, flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            if not str(reason).startswith(_TEMPORARY):
                self.refused = str(reason)
            return
        self.generation += 1
        self.client.limit_in_flight(getattr(properties, "ReceiveMaximum", MAX_IN_FLIGHT))
        self.lost_at, self.refused = None, ""
        self.on_connect(bool(flags.session_present))
        self.connected.set()

    def _handle_disconnect(self, *_: Any) -> None:
        self.connected.clear()
        if self.lost_at is None:
            self.lost_at = time.monotonic()


def _disable_nagle(_: paho.Client, __: Any, connection: Any) -> None:
    """Switch off Nagle's algorithm: acknowledgements are small, and would wait for those of TCP."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
