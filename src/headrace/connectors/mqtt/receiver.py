"""Receives messages from a broker into the write-ahead log."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from headrace.connectors.base import ReadContext
from headrace.connectors.durable_files import read_json, write_json
from headrace.connectors.mqtt.address import describe_failure, describe_refusal
from headrace.connectors.mqtt.client import Delivery
from headrace.connectors.mqtt.connection import BrokerConnection
from headrace.connectors.options import seconds_of
from headrace.connectors.write_ahead_log import LogClosedError, Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.arrivals import Arrivals
from headrace.errors import Problem, SourceError

if TYPE_CHECKING:
    from headrace.connectors.mqtt import Mqtt
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_SUBSCRIBE_SECONDS = 10.0
_FAILED = 0x80
"""Reason codes from here on are failures, in MQTT 3.1.1 and 5."""


class MqttReceiver:
    """Subscribes to the filters of a source; acknowledges a message once the log holds it."""

    def __init__(self, options: Mqtt, context: ReadContext) -> None:
        self._options, self._source = options, context.source
        client_id = options.client_id or f"headrace-{context.pipeline}-{context.source}"
        self._connection = BrokerConnection(options, client_id, persistent=options.session == "persistent")
        self._subscriptions = Path(context.directory) / "subscriptions.json"
        self._recorded: dict[str, int] = {}
        """The subscriptions of the session at the broker."""
        self._log: WriteAheadLog | None = None
        self._stopped = threading.Event()
        self._arrivals = Arrivals(self._stopped)
        self._subscribed = threading.Event()
        self._refused_filters: list[str] = []
        self._watch = threading.Thread(target=self._watch_connection, name="headrace-mqtt", daemon=True)

    def start(self, log: WriteAheadLog) -> None:
        self._log, self._recorded = log, read_json(self._subscriptions, {})
        connection = self._connection
        connection.on_connect = self._subscribe
        connection.client.on_delivery = self._receive
        connection.client.on_subscribe = self._confirm_subscription
        try:
            connection.open()
        except OSError as error:
            raise SourceError.of(describe_failure(error, connection.address, self._source)) from error
        self._await_subscription()
        self._arrivals.note()
        self._watch.start()

    def settle(self) -> None:
        """Wait until no message has arrived for a while: the protocol does not mark the end of a queue."""
        self._arrivals.await_quiet(self._options.quiet)

    def stop(self) -> None:
        self._stopped.set()
        self._connection.close()
        if self._watch.is_alive():
            self._watch.join()

    def _subscribe(self, session_present: bool) -> None:
        """Subscribe unless the broker has the subscriptions: a new one would send retained messages again."""
        wanted = self._wanted_subscriptions
        if session_present and self._recorded == wanted:
            self._subscribed.set()
            return
        client = self._connection.client
        if session_present and (obsolete := [item for item in self._recorded if item not in wanted]):
            client.unsubscribe(obsolete)
        client.subscribe(list(wanted.items()))

    @property
    def _wanted_subscriptions(self) -> dict[str, int]:
        """The filters, each with its quality of service."""
        return dict.fromkeys(self._options.topics, self._options.qos)

    def _confirm_subscription(self, _: Any, __: Any, ___: int, reasons: Any, ____: Any) -> None:
        wanted = self._wanted_subscriptions
        self._refused_filters = [
            f"`{item}` ({reason})"
            for item, reason in zip(wanted, reasons, strict=False)
            if reason.value >= _FAILED
        ]
        if not self._refused_filters:
            write_json(self._subscriptions, wanted)
            self._recorded = wanted
        self._subscribed.set()

    def _await_subscription(self) -> None:
        confirmed = self._subscribed.wait(_SUBSCRIBE_SECONDS)
        if not confirmed or self._refused_filters:
            raise SourceError.of(self._describe_refused_filters())

    def _describe_refused_filters(self) -> Problem:
        refused = ", ".join(self._refused_filters) or "no answer"
        what = f"the MQTT broker at {self._connection.address.url} refuses a subscription: {refused}"
        hint = "check the filters, and the access rights of the user at the broker"
        return Problem(self._source, what, hint)

    def _receive(self, delivery: Delivery) -> None:
        """Append a message to the log; paho's thread, which calls this, reads no further while it is full."""
        if self._log is None:
            return
        self._arrivals.note()
        generation, connection = self._connection.generation, self._connection

        def acknowledge() -> None:
            """Acknowledge the message, unless its connection has ended: the broker delivers it again."""
            if generation == connection.generation:
                connection.client.acknowledge(delivery)

        try:
            stored = self._log.submit([_as_message(delivery)], acknowledge)
        except MessageTooLargeError:
            stored = False
        except LogClosedError:
            return
        if not stored:
            acknowledge()  # dropped and counted

    def _watch_connection(self) -> None:
        """Report a connection or subscription that the broker refuses, and one that stays broken."""
        timeout = seconds_of(self._options.retry_timeout)
        connection = self._connection
        while not self._stopped.wait(0.2):
            if connection.refused:
                problem = describe_refusal(connection.refused, connection.address, self._source)
            elif self._refused_filters:  # when the source subscribed again after a reconnect
                problem = self._describe_refused_filters()
            elif connection.unavailable_seconds > timeout:
                url = connection.address.url
                what = f"the MQTT broker at {url} was unavailable for {timeout:g} seconds"
                problem = Problem(self._source, what, "start the broker; the next run resumes")
            else:
                continue
            if self._log is not None:
                self._log.fail(SourceError.of(problem))
            return


def _as_message(delivery: Delivery) -> Message:
    metadata: dict[str, Any] = {
        "topic": delivery.topic,
        "qos": delivery.qos,
        "retained": delivery.retained,
        "duplicate": delivery.duplicate,
    }
    if delivery.properties is not None:
        metadata["user_properties"] = dict(getattr(delivery.properties, "UserProperty", ()))
        metadata["content_type"] = getattr(delivery.properties, "ContentType", None)
    identity = None
    if delivery.qos == 2:
        # With a checksum, because packet ids are reused after the exchange is complete.
        identity = f"{delivery.packet_id}:{crc32(delivery.payload, crc32(delivery.topic.encode()))}"
    return Message(delivery.payload, metadata, identity, redelivered=delivery.duplicate)
