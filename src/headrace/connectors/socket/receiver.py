"""Receives the lines of a TCP server into the write-ahead log."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.options import seconds_of
from headrace.connectors.write_ahead_log import Message, MessageTooLargeError
from headrace.connectors.write_ahead_log.reconnecting import ReconnectingReceiver
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.socket import Socket
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.1
_MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is divided; without a bound, a server that sends no newline would fill the memory."""

log = logging.getLogger(__name__)


class SocketReceiver(ReconnectingReceiver[socket.socket]):
    """Reads one connection, and reconnects without a time limit when it ends."""

    def __init__(self, options: Socket, context: ReadContext) -> None:
        pause = seconds_of(options.reconnect)
        super().__init__(context, backoff=(pause, pause))
        self._address = (options.host, options.port)

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=_CONNECT_SECONDS)
        connection.settimeout(_POLL_SECONDS)
        return connection

    def close(self, connection: socket.socket) -> None:
        connection.close()

    def read(self, messages: WriteAheadLog, connection: socket.socket) -> None:
        """Store lines until the server closes the connection or the receiver is stopped."""
        rest = b""
        while not self.stopped.is_set():
            try:
                received = connection.recv(65536)
            except TimeoutError:
                continue
            except OSError as error:
                log.warning("the connection to %s:%d broke: %s", *self._address, error)
                break
            if not received:
                break
            *lines, rest = (rest + received).split(b"\n")
            if len(rest) > _MAX_LINE_BYTES:
                lines, rest = [*lines, rest], b""
            self._store(messages, lines)
        self._store(messages, [rest] if rest else [])  # the last line may have no newline

    def describe(self, error: Exception) -> SourceError:
        reason = getattr(error, "strerror", None) or error
        return SourceError(
            f"no server answers at {self._address[0]}:{self._address[1]}: {reason}",
            where=self.source,
            hint=f"start the server first; to try it out: nc -lk {self._address[1]}",
        )

    def _store(self, messages: WriteAheadLog, lines: list[bytes]) -> None:
        """Append lines to the log; while it is full, nothing is read, and the server has to wait."""
        if not lines:
            return
        try:
            messages.submit([Message(line.removesuffix(b"\r")) for line in lines], lambda: None)
        except MessageTooLargeError:
            log.warning("a line from %s:%d is larger than half of log_limit", *self._address)
