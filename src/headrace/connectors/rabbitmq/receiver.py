"""Consumes a queue into the write-ahead log."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.connectors.base import ReadContext
from headrace.connectors.rabbitmq.connection import ERRORS, Broker, close, declare_queue
from headrace.connectors.write_ahead_log import Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.reconnecting import ReconnectingReceiver
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.rabbitmq import RabbitMQ
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_POLL_SECONDS = 0.1


class RabbitReceiver(ReconnectingReceiver[Any]):
    """Reads one queue. A connection is the channel: pika's connections allow one thread only."""

    errors: ClassVar[tuple[type[Exception], ...]] = ERRORS

    def __init__(self, options: RabbitMQ, context: ReadContext) -> None:
        super().__init__(context, quiet=options.quiet, retry_timeout=options.retry_timeout)
        self._options, self._broker = options, Broker(options)

    def connect(self) -> Any:
        channel = self._broker.connect().channel()
        try:
            declare_queue(channel, self._options)
            channel.basic_qos(prefetch_count=self._options.prefetch)
        except BaseException:
            close(channel)
            raise
        return channel

    def close(self, connection: Any) -> None:
        close(connection)

    def read(self, log: WriteAheadLog, connection: Any) -> None:
        channel = connection
        acknowledger = _Acknowledger(channel)
        messages = channel.consume(self._options.queue, inactivity_timeout=_POLL_SECONDS)
        for method, properties, body in messages:
            if self.stopped.is_set():
                return
            if method is None:
                continue
            self.arrivals.note()
            while not log.await_room(len(body), _POLL_SECONDS):
                channel.connection.process_data_events(0)  # heartbeats; the broker sends `prefetch` at most
                if self.stopped.is_set():
                    return
            self._store(log, acknowledger, method.delivery_tag, _as_message(method, properties, body))

    def describe(self, error: Exception) -> SourceError:
        what, hint = self._broker.translate_error(error) or (str(error), "")
        return SourceError(what, where=self.source, hint=hint)

    def is_final(self, error: Exception) -> bool:
        return not self._broker.is_unavailable(error)

    def _store(self, log: WriteAheadLog, acknowledger: _Acknowledger, tag: int, message: Message) -> None:
        try:
            stored = log.submit([message], lambda: acknowledger.accept(tag))
        except MessageTooLargeError:
            stored = False
        if not stored:
            acknowledger.reject(tag)


class _Acknowledger:
    """Acknowledges messages of one channel. Messages become durable in order: one frame covers many."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._durable = self._sent = 0

    def accept(self, tag: int) -> None:
        """Acknowledge a message and those before it; called in the thread of the log."""
        with self._lock:
            scheduled, self._durable = self._durable > self._sent, tag
        if not scheduled:
            self._channel.connection.add_callback_threadsafe(self._send)

    def reject(self, tag: int) -> None:
        """Reject a message: it goes to the dead-letter exchange. Called in the connection's thread."""
        self._channel.basic_nack(tag, requeue=False)

    def _send(self) -> None:
        with self._lock:
            self._sent = self._durable
        if self._channel.is_open:
            self._channel.basic_ack(self._sent, multiple=True)


def _as_message(method: Any, properties: Any, body: bytes) -> Message:
    headers = properties.headers or {}
    metadata = {
        "exchange": method.exchange,
        "routing_key": method.routing_key,
        "redelivered": method.redelivered,
        "message_id": properties.message_id,
        "content_type": properties.content_type,
        "headers": {str(name): str(value) for name, value in headers.items()},
    }
    return Message(body, metadata, properties.message_id, redelivered=method.redelivered)
