"""Writes the lines of a server to small files, which Spark can read repeatedly.

A file is written under a hidden name and renamed when it is complete, so a reader never sees one that still
grows. One spool serves all queries of a process that read the same source.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from pathlib import Path
from typing import BinaryIO

PART_SECONDS = 0.2
"""The minimum time that a file stays open while lines arrive; bounds the number of files."""
PART_BYTES = 4 * 1024 * 1024
_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.05
_PRUNE_SECONDS = 30
_OPEN = ".open"

log = logging.getLogger(__name__)


class Spool:
    """The lines of one server in one directory, in numbered files."""

    def __init__(self, address: tuple[str, int], directory: Path, *, reconnect: float, keep: float) -> None:
        """Connect.

        Raises:
            OSError: no server answers; no thread is started then.
        """
        self._address, self._directory = address, directory
        self._reconnect, self._keep = reconnect, keep
        directory.mkdir(parents=True, exist_ok=True)
        self._number = 0
        self._recover()
        self._part: BinaryIO | None = None
        self._rest = b""
        self._published = self._pruned = 0.0
        self._stopped = threading.Event()
        connection = self._connect()
        self._thread = threading.Thread(
            target=self._work, args=(connection,), name="headrace-socket", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the connection, and publish the lines that have been read."""
        self._stopped.set()
        self._thread.join()

    def _work(self, connection: socket.socket | None) -> None:
        while connection is not None and not self._stopped.is_set():
            with connection:
                self._read(connection)
            connection = self._reconnect_until_stopped()
        self._publish()

    def _read(self, connection: socket.socket) -> None:
        """Read lines until the server closes the connection or the spool is stopped."""
        while not self._stopped.is_set():
            try:
                received = connection.recv(65536)
            except TimeoutError:
                self._publish()
                continue
            except OSError as error:
                log.warning("the connection to %s:%d broke: %s", *self._address, error)
                received = b""
            if not received:
                break
            *lines, self._rest = (self._rest + received).split(b"\n")
            self._write(lines)
        # The last line may have no newline.
        self._write([self._rest] if self._rest else [])
        self._rest = b""
        self._publish()

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        if self._part is None:
            self._part = (self._directory / _OPEN).open("wb", buffering=0)
        self._part.write(b"".join(line.removesuffix(b"\r") + b"\n" for line in lines))
        if time.monotonic() - self._published >= PART_SECONDS or self._part.tell() >= PART_BYTES:
            self._publish()

    def _publish(self) -> None:
        """Rename the open file, so that readers see it."""
        if self._part is not None:
            self._part.close()
            self._part = None
            self._rename_open_file()
            self._published = time.monotonic()
        if time.monotonic() - self._pruned > _PRUNE_SECONDS:
            self._prune()

    def _rename_open_file(self) -> None:
        (self._directory / _OPEN).rename(self._directory / f"{self._number:012d}.txt")
        self._number += 1

    def _prune(self) -> None:
        """Remove old files, except for the newest: numbering continues after it."""
        self._pruned = time.monotonic()
        oldest = time.time() - self._keep
        for file in sorted(self._directory.glob("*.txt"))[:-1]:
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)

    def _recover(self) -> None:
        """Continue the numbering, and publish the lines that a killed process had read."""
        numbers = [int(file.stem) for file in self._directory.glob("*.txt")]
        self._number = max(numbers, default=-1) + 1
        if (self._directory / _OPEN).exists():
            self._rename_open_file()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=_CONNECT_SECONDS)
        connection.settimeout(_POLL_SECONDS)
        return connection

    def _reconnect_until_stopped(self) -> socket.socket | None:
        """Return a new connection, retrying without a limit; None once the spool is stopped."""
        while not self._stopped.wait(self._reconnect):
            try:
                return self._connect()
            except OSError as error:
                log.info("%s:%d does not answer: %s", *self._address, error)
        return None
