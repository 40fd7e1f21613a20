"""Publishes rows to topics, and waits until the broker has acknowledged each message."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.connectors.base import WriteContext, require_open
from headrace.connectors.mqtt.address import describe_failure, describe_refusal
from headrace.connectors.mqtt.connection import BrokerConnection
from headrace.connectors.mqtt.topics import check_topic
from headrace.connectors.options import seconds_of
from headrace.connectors.row_encoding import Fields, encode_columns, encode_texts
from headrace.connectors.templates import template_expression
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.mqtt import Mqtt

_BATCH = 10_000
"""The maximum number of unacknowledged messages; their packet ids, of 16 bits, must be unique."""


class MqttPublisher:
    """Publishes messages over one connection."""

    def __init__(self, options: Mqtt, context: WriteContext) -> None:
        self._options, self._sink = options, context.sink
        self._client_id = options.client_id or f"headrace-{context.pipeline}-{context.sink}"
        self._timeout = seconds_of(options.retry_timeout)
        self._connection: BrokerConnection | None = None
        self._changed = threading.Condition()
        self._acknowledged: dict[int, str] = {}
        """By packet id, the reason for which the broker refused the message; empty if it accepted it."""

    def expressions(self, fields: Fields) -> list[str]:
        """Return the expressions of topic, payload and user properties."""
        options, where = self._options, self._sink
        value = encode_columns(options, fields, where)
        return [
            template_expression(options.topic or "", fields, where),
            f"cast({value} as binary)",
            encode_texts(options.user_properties, fields, where),
        ]

    def open(self) -> None:
        connection = BrokerConnection(self._options, self._client_id, persistent=False)
        connection.client.on_publish = self._note_acknowledgement
        try:
            connection.open()
        except OSError as error:
            raise DeliveryError.of(describe_failure(error, connection.address, self._sink)) from error
        self._connection = connection

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        connection = require_open(self._connection, self._sink)
        sent: set[int] = set()
        for topic, payload, properties in messages:
            sent.add(self._send(connection, topic, payload, properties))
            if len(sent) == _BATCH:
                self._await_acknowledgements(connection, sent)
        self._await_acknowledgements(connection, sent)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _send(
        self, connection: BrokerConnection, topic: str, payload: bytes, values: Sequence[str | None]
    ) -> int:
        """Send a message and return its packet id; paho sends it again after a reconnect."""
        try:
            check_topic(topic)
        except ValueError as error:
            hint = f"the topic is computed from `{self._options.topic}`: filter such rows before the sink"
            raise DeliveryError(str(error), where=self._sink, hint=hint) from None
        options, properties = self._options, None
        if values:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            pairs = zip(options.user_properties, values, strict=True)
            properties.UserProperty = [(name, value) for name, value in pairs if value is not None]
        if not connection.connected.wait(self._timeout):
            raise self._timeout_error(connection)
        return connection.client.publish(topic, payload or b"", options.qos, options.retain, properties).mid

    def _note_acknowledgement(self, _: Any, __: Any, packet: int, reason: Any, ___: Any) -> None:
        with self._changed:
            self._acknowledged[packet] = str(reason) if reason.is_failure else ""
            self._changed.notify_all()

    def _await_acknowledgements(self, connection: BrokerConnection, sent: set[int]) -> None:
        """Wait until the broker has acknowledged all messages that were sent."""
        deadline = time.monotonic() + self._timeout
        with self._changed:
            while not sent <= self._acknowledged.keys():
                count = len(self._acknowledged)
                self._changed.wait(0.2)
                if connection.refused:
                    raise DeliveryError.of(
                        describe_refusal(connection.refused, connection.address, self._sink)
                    )
                if len(self._acknowledged) > count:
                    deadline = time.monotonic() + self._timeout
                elif time.monotonic() > deadline:
                    raise self._timeout_error(connection)
            refused = next((reason for packet in sent if (reason := self._acknowledged[packet])), "")
            self._acknowledged.clear()
        sent.clear()
        if refused:
            what = f"the MQTT broker at {connection.address.url} refuses a message: {refused}"
            raise DeliveryError(what, where=self._sink, hint="check the user's access rights to the topic")

    def _timeout_error(self, connection: BrokerConnection) -> DeliveryError:
        what = f"the MQTT broker at {connection.address.url} acknowledges no messages"
        return DeliveryError(what, where=self._sink, hint="is it running? The next run resumes")
