"""Receives the messages of a WebSocket server into the write-ahead log."""

from __future__ import annotations

import ssl
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headrace.connectors.base import ReadContext
from headrace.connectors.network.tls import client_context
from headrace.connectors.options import bytes_of
from headrace.connectors.write_ahead_log import LogClosedError, Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.arrivals import Arrivals
from headrace.durations import microseconds
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.websocket import WebSocket
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_CONNECT_SECONDS = 10.0
_POLL_SECONDS = 0.2
_BACKOFF_SECONDS = (0.25, 10.0)


class WebSocketReceiver:
    """Reads one connection, and reconnects with backoff."""

    def __init__(self, options: WebSocket, context: ReadContext) -> None:
        self._options, self._source = options, context.source
        self._arrivals = Arrivals()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = ExitStack()
        """Closes the present connection."""

    def start(self, log: WriteAheadLog) -> None:
        try:
            connection = self._connect()
        except (OSError, InvalidHandshake) as error:
            raise self._error(error) from error
        self._arrivals.note()
        self._thread = threading.Thread(
            target=self._work, args=(log, connection), name="headrace-websocket", daemon=True
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
        self._closing.close()

    def _connect(self) -> ClientConnection:
        options, headers = self._options, dict(self._options.headers)
        if options.token is not None:
            headers["Authorization"] = f"Bearer {options.token.get_secret_value()}"
        secure = urlsplit(options.url or "").scheme == "wss"
        context: ssl.SSLContext | None = client_context(options.tls) if secure else None
        closing = ExitStack()
        connection = closing.enter_context(
            connect(
                options.url or "",
                ssl=context,
                additional_headers=headers,
                open_timeout=_CONNECT_SECONDS,
                max_size=bytes_of(options.max_message),
            )
        )
        self._closing = closing
        for message in options.subscribe:
            connection.send(message)
        return connection

    def _work(self, log: WriteAheadLog, first: ClientConnection) -> None:
        """Read messages, and reconnect after errors, until the receiver is stopped."""
        connection: ClientConnection | None = first
        lost_at: float | None = None
        backoff, longest = _BACKOFF_SECONDS
        timeout = microseconds(self._options.retry_timeout) / 1e6
        while not self._stopped.is_set():
            try:
                connection = connection or self._connect()
                lost_at, backoff = None, _BACKOFF_SECONDS[0]
                with self._closing:
                    self._read(log, connection)
            except LogClosedError:
                return
            except (OSError, InvalidHandshake, ConnectionClosed) as error:
                lost_at = lost_at or time.monotonic()
                if _is_final(error) or time.monotonic() - lost_at > timeout:
                    log.fail(self._error(error))
                    return
                self._stopped.wait(backoff)
                backoff = min(2 * backoff, longest)
            connection = None

    def _read(self, log: WriteAheadLog, connection: ClientConnection) -> None:
        """Append messages to the log; while it is full, nothing is read, and the server has to wait."""
        while not self._stopped.is_set():
            try:
                message = connection.recv(timeout=_POLL_SECONDS)
            except TimeoutError:
                continue
            self._arrivals.note()
            value = message.encode() if isinstance(message, str) else message
            try:
                log.submit([Message(value)], lambda: None)
            except MessageTooLargeError:
                continue  # counted

    def _error(self, error: Exception) -> SourceError:
        if isinstance(error, InvalidStatus):
            what = f"{self._options.url} refuses the connection: status {error.response.status_code}"
            return SourceError(what, where=self._source, hint="check the path, the token and the headers")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        what = f"no WebSocket server answers at {self._options.url}: {reason}"
        return SourceError(what, where=self._source, hint="is it running there?")


def _is_final(error: Exception) -> bool:
    """Return True for a refusal that a retry does not change."""
    return isinstance(error, InvalidStatus) and 400 <= error.response.status_code < 500
