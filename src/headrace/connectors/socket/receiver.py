"""Receives the lines of a TCP server into the write-ahead log."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.write_ahead_log import LogClosedError, Message, MessageTooLargeError
from headrace.durations import microseconds
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.socket import Socket
    from headrace.connectors.write_ahead_log.log import WriteAheadLog

_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.1
_LONGEST_LINE = 16 * 1024 * 1024
"""A longer line is divided; without a bound, a server that sends no newline would fill the memory."""

log = logging.getLogger(__name__)


class SocketReceiver:
    """Reads one connection, and reconnects when it ends."""

    def __init__(self, options: Socket, context: ReadContext) -> None:
        self._address = (options.host, options.port)
        self._reconnect = microseconds(options.reconnect) / 1e6
        self._source = context.source
        self._stopped = threading.Event()
        self._rest = b""
        self._thread: threading.Thread | None = None

    def start(self, log: WriteAheadLog) -> None:
        try:
            connection = self._connect()
        except OSError as error:
            raise SourceError(
                f"no server answers at {self._address[0]}:{self._address[1]}: {error.strerror or error}",
                where=self._source,
                hint=f"start the server first; to try it out: nc -lk {self._address[1]}",
            ) from error
        self._thread = threading.Thread(
            target=self._work, args=(log, connection), name="headrace-socket", daemon=True
        )
        self._thread.start()

    def settle(self) -> None:
        """Return at once: a run with `--once` takes the lines that have arrived."""

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self, messages: WriteAheadLog, first: socket.socket) -> None:
        connection: socket.socket | None = first
        try:
            while connection is not None:
                with connection:
                    self._read(messages, connection)
                connection = self._reconnect_until_stopped()
        except LogClosedError:
            return

    def _read(self, messages: WriteAheadLog, connection: socket.socket) -> None:
        """Store lines until the server closes the connection or the receiver is stopped."""
        while not self._stopped.is_set():
            try:
                received = connection.recv(65536)
            except TimeoutError:
                continue
            except OSError as error:
                log.warning("the connection to %s:%d broke: %s", *self._address, error)
                received = b""
            if not received:
                break
            *lines, self._rest = (self._rest + received).split(b"\n")
            if len(self._rest) > _LONGEST_LINE:
                lines, self._rest = [*lines, self._rest], b""
            self._store(messages, lines)
        # The last line may have no newline.
        self._store(messages, [self._rest] if self._rest else [])
        self._rest = b""

    def _store(self, messages: WriteAheadLog, lines: list[bytes]) -> None:
        """Append lines to the log; while it is full, nothing is read, and the server has to wait."""
        if not lines:
            return
        try:
            messages.submit([Message(line.removesuffix(b"\r")) for line in lines], lambda: None)
        except MessageTooLargeError:
            log.warning("a line from %s:%d is larger than half of log_limit", *self._address)

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=_CONNECT_SECONDS)
        connection.settimeout(_POLL_SECONDS)
        return connection

    def _reconnect_until_stopped(self) -> socket.socket | None:
        """Return a new connection, retrying without a limit; None once the receiver is stopped."""
        while not self._stopped.wait(self._reconnect):
            try:
                return self._connect()
            except OSError as error:
                log.info("%s:%d does not answer: %s", *self._address, error)
        return None
