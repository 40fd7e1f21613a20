"""Receives the messages of a WebSocket server into the write-ahead log."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headrace.connectors.base import ReadContext
from headrace.connectors.network.requests import token_header
from headrace.connectors.network.tls import client_context
from headrace.connectors.options import bytes_of
from headrace.connectors.write_ahead_log import Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.reconnecting import ReconnectingReceiver
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.websocket import WebSocket
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_CONNECT_SECONDS = 10.0
_POLL_SECONDS = 0.2


class WebSocketReceiver(ReconnectingReceiver[ClientConnection]):
    """Reads one connection to a server."""

    errors: ClassVar[tuple[type[Exception], ...]] = (OSError, InvalidHandshake, ConnectionClosed)

    def __init__(self, options: WebSocket, context: ReadContext) -> None:
        super().__init__(context, quiet=options.quiet, retry_timeout=options.retry_timeout)
        self._options, self._url = options, options.url or ""

    def connect(self) -> ClientConnection:
        options = self._options
        opened = connect(
            self._url,
            ssl=client_context(options.tls) if urlsplit(self._url).scheme == "wss" else None,
            additional_headers={**options.headers, **token_header(options.token)},
            open_timeout=_CONNECT_SECONDS,
            max_size=bytes_of(options.max_message),
        )
        connection = opened.__enter__()  # the package warns without it; `close` does the rest
        for message in options.subscribe:
            connection.send(message)
        return connection

    def close(self, connection: ClientConnection) -> None:
        connection.close()

    def read(self, log: WriteAheadLog, connection: ClientConnection) -> None:
        """Append messages to the log; while it is full, nothing is read, and the server has to wait."""
        while not self.stopped.is_set():
            try:
                message = connection.recv(timeout=_POLL_SECONDS)
            except TimeoutError:
                continue
            self.arrivals.note()
            value = message.encode() if isinstance(message, str) else message
            try:
                log.submit([Message(value)], lambda: None)
            except MessageTooLargeError:
                continue  # counted

    def describe(self, error: Exception) -> SourceError:
        if isinstance(error, InvalidStatus):
            what = f"{self._url} refuses the connection: status {error.response.status_code}"
            return SourceError(what, where=self.source, hint="check the path, the token and the headers")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        what = f"no WebSocket server answers at {self._url}: {reason}"
        return SourceError(what, where=self.source, hint="is it running there?")

    def is_final(self, error: Exception) -> bool:
        return isinstance(error, InvalidStatus) and 400 <= error.response.status_code < 500
