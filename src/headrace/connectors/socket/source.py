"""Reads the spool of a TCP server with Spark's file source."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.files.source import lines
from headrace.connectors.socket.spool import Spool
from headrace.durations import microseconds
from headrace.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.socket import Socket

_lock = threading.Lock()
_spools: dict[Path, tuple[Spool, int]] = {}
"""The spools of this process with the number of their readers: one connection serves several queries."""


class SocketReader:
    """Reads one server."""

    def __init__(self, options: Socket) -> None:
        self._options = options
        self._directories: list[Path] = []

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        directory = Path(context.directory).absolute() / "spool"
        self._acquire(directory, context)
        reader = spark.readStream.option("maxFileAge", f"{microseconds(self._options.keep) // 1000 + 1000}ms")
        return lines(spark, reader, f"file://{directory}")

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        raise SourceError(
            "a socket has no end, so it can't be read as a batch",
            where=context.source,
            hint="save the lines to a file, and read that",
        )

    def close(self) -> None:
        for directory in self._directories:
            _release(directory)
        self._directories.clear()

    def _acquire(self, directory: Path, context: ReadContext) -> None:
        with _lock:
            spool, readers = _spools.get(directory) or (self._open(directory, context), 0)
            _spools[directory] = (spool, readers + 1)
        self._directories.append(directory)

    def _open(self, directory: Path, context: ReadContext) -> Spool:
        address = (self._options.host, self._options.port)
        reconnect, keep = (microseconds(d) / 1e6 for d in (self._options.reconnect, self._options.keep))
        try:
            return Spool(address, directory, reconnect=reconnect, keep=keep)
        except OSError as error:
            raise SourceError(
                f"no server answers at {address[0]}:{address[1]}: {error.strerror or error}",
                where=context.source,
                hint=f"start the server first; to try it out: nc -lk {address[1]}",
            ) from error


def _release(directory: Path) -> None:
    with _lock:
        spool, readers = _spools.pop(directory)
        if readers > 1:
            _spools[directory] = (spool, readers - 1)
            return
    spool.stop()
