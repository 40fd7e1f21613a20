"""Consumes a queue into the write-ahead log."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pika import exceptions

from headrace.connectors.base import ReadContext
from headrace.connectors.rabbitmq.connection import FINAL, connect, declare_queue, describe_error
from headrace.connectors.write_ahead_log import LogClosedError, Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.arrivals import Arrivals
from headrace.durations import microseconds
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.rabbitmq import RabbitMQ
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_POLL_SECONDS = 0.1
_BACKOFF_SECONDS = (0.25, 10.0)


class RabbitReceiver:
    """Reads one queue; a thread owns the connection, because pika's connections allow one thread only."""

    def __init__(self, options: RabbitMQ, context: ReadContext) -> None:
        self._options, self._source = options, context.source
        self._stopped = threading.Event()
        self._arrivals = Arrivals()
        self._connection: Any = None
        self._thread: threading.Thread | None = None

    def start(self, log: WriteAheadLog) -> None:
        try:
            channel = self._open()
        except (exceptions.AMQPError, OSError) as error:
            raise self._error(error) from error
        self._arrivals.note()
        self._thread = threading.Thread(
            target=self._work, args=(log, channel), name="headrace-rabbitmq", daemon=True
        )
        self._thread.start()

    def settle(self) -> None:
        """Wait until no message has arrived for a while."""
        self._arrivals.await_quiet(self._options.quiet)

    def stop(self) -> None:
        self._stopped.set()
        self._arrivals.stop()
        if self._thread is not None:
            self._thread.join()
        self._close()

    def _open(self) -> Any:
        """Connect, declare the queue and return a channel."""
        self._connection = connect(self._options)
        channel = self._connection.channel()
        declare_queue(channel, self._options)
        channel.basic_qos(prefetch_count=self._options.prefetch)
        return channel

    def _close(self) -> None:
        if self._connection is not None and self._connection.is_open:
            with suppress(exceptions.AMQPError):  # the broker may close it first
                self._connection.close()
        self._connection = None

    def _work(self, log: WriteAheadLog, channel: Any) -> None:
        """Consume, and reconnect after errors, until the receiver is stopped."""
        lost_at: float | None = None
        backoff, longest = _BACKOFF_SECONDS
        timeout = microseconds(self._options.retry_timeout) / 1e6
        while not self._stopped.is_set():
            try:
                channel = channel or self._open()
                lost_at, backoff = None, _BACKOFF_SECONDS[0]
                self._consume(log, channel)
            except LogClosedError:
                return
            except (exceptions.AMQPError, OSError) as error:
                self._close()
                channel, lost_at = None, lost_at or time.monotonic()
                if isinstance(error, FINAL) or time.monotonic() - lost_at > timeout:
                    log.fail(self._error(error))
                    return
                self._stopped.wait(backoff)
                backoff = min(2 * backoff, longest)

    def _consume(self, log: WriteAheadLog, channel: Any) -> None:
        acknowledger = _Acknowledger(self._connection, channel)
        messages = channel.consume(self._options.queue, inactivity_timeout=_POLL_SECONDS)
        for method, properties, body in messages:
            if self._stopped.is_set():
                break
            if method is None:
                continue
            self._arrivals.note()
            while not log.await_room(len(body), _POLL_SECONDS):
                self._connection.process_data_events(0)  # heartbeats; the broker sends `prefetch` at most
                if self._stopped.is_set():
                    return
            self._store(log, acknowledger, method.delivery_tag, _as_message(method, properties, body))

    def _store(self, log: WriteAheadLog, acknowledger: _Acknowledger, tag: int, message: Message) -> None:
        try:
            stored = log.submit([message], lambda: acknowledger.accept(tag))
        except MessageTooLargeError:
            stored = False
        if not stored:
            acknowledger.reject(tag)

    def _error(self, error: BaseException) -> SourceError:
        problem = describe_error(error, self._options, self._source)
        return SourceError(problem.what, where=problem.where, hint=problem.hint)


class _Acknowledger:
    """Acknowledges messages of one channel. Messages become durable in order: one frame covers many."""

    def __init__(self, connection: Any, channel: Any) -> None:
        self._connection, self._channel = connection, channel
        self._lock = threading.Lock()
        self._durable = self._sent = 0

    def accept(self, tag: int) -> None:
        """Acknowledge a message and those before it; called in the thread of the log."""
        with self._lock:
            scheduled, self._durable = self._durable > self._sent, tag
        if not scheduled:
            self._connection.add_callback_threadsafe(self._send)

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
