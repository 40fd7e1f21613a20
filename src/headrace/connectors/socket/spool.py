"""Writes what a server sends to small files, so that Spark can read it, and read it again.

A part is written under a hidden name and renamed when it is whole, so a reader never sees a file that still grows. One
spool serves all queries of a process that read the same source.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from pathlib import Path
from typing import BinaryIO

PART_SECONDS = 0.2
"""The least time a part is open while lines keep coming: more parts would be more files to list."""
PART_BYTES = 4 * 1024 * 1024
_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.05
_PRUNE_SECONDS = 30
_OPEN = ".open"

log = logging.getLogger(__name__)


class Spool:
    """The lines of one server in one directory, numbered files in the order they came."""

    def __init__(self, address: tuple[str, int], directory: Path, *, reconnect: float, keep: float) -> None:
        """Connect.

        Raises:
            OSError: nobody answers; nothing has been started then.
        """
        self._address, self._directory = address, directory
        self._reconnect, self._keep = reconnect, keep
        directory.mkdir(parents=True, exist_ok=True)
        self._number = 0
        self._recover()
        self._part: BinaryIO | None = None
        self._rest = b""
        self._shown = self._pruned = 0.0
        self._stopped = threading.Event()
        connection = self._connect()
        self._thread = threading.Thread(
            target=self._work, args=(connection,), name="headrace-socket", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Hang up, and show what has been read."""
        self._stopped.set()
        self._thread.join()

    def _work(self, connection: socket.socket | None) -> None:
        while connection is not None and not self._stopped.is_set():
            with connection:
                self._read(connection)
            connection = self._again()
        self._show()

    def _read(self, connection: socket.socket) -> None:
        """Take lines until the server hangs up or the spool is stopped."""
        while not self._stopped.is_set():
            try:
                received = connection.recv(65536)
            except TimeoutError:
                self._show()
                continue
            except OSError as error:
                log.warning("the connection to %s:%d broke: %s", *self._address, error)
                received = b""
            if not received:
                break
            *lines, self._rest = (self._rest + received).split(b"\n")
            self._take(lines)
        # What came without a newline was read as well.
        self._take([self._rest] if self._rest else [])
        self._rest = b""
        self._show()

    def _take(self, lines: list[bytes]) -> None:
        if not lines:
            return
        if self._part is None:
            self._part = (self._directory / _OPEN).open("wb", buffering=0)
        self._part.write(b"".join(line.removesuffix(b"\r") + b"\n" for line in lines))
        if time.monotonic() - self._shown >= PART_SECONDS or self._part.tell() >= PART_BYTES:
            self._show()

    def _show(self) -> None:
        """Make the part a file that readers see."""
        if self._part is not None:
            self._part.close()
            self._part = None
            self._name()
            self._shown = time.monotonic()
        if time.monotonic() - self._pruned > _PRUNE_SECONDS:
            self._prune()

    def _name(self) -> None:
        (self._directory / _OPEN).rename(self._directory / f"{self._number:012d}.txt")
        self._number += 1

    def _prune(self) -> None:
        """Remove what is old; never the newest part, whose number is the only memory of how far the spool was."""
        self._pruned = time.monotonic()
        oldest = time.time() - self._keep
        for file in sorted(self._directory.glob("*.txt"))[:-1]:
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)

    def _recover(self) -> None:
        """Go on after the last part, and show what a dead process had read."""
        numbers = [int(file.stem) for file in self._directory.glob("*.txt")]
        self._number = max(numbers, default=-1) + 1
        if (self._directory / _OPEN).exists():
            self._name()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=_CONNECT_SECONDS)
        connection.settimeout(_POLL_SECONDS)
        return connection

    def _again(self) -> socket.socket | None:
        """A new connection, tried for as long as it takes; None once the spool is stopped."""
        while not self._stopped.wait(self._reconnect):
            try:
                return self._connect()
            except OSError as error:
                log.info("%s:%d doesn't answer: %s", *self._address, error)
        return None
