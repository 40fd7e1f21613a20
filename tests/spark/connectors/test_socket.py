"""The socket source, against a real server: lines are stored before they are read, and servers may come back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.receiving import receiving as running
from tests.support.receiving import records
from tests.support.waiting import TIMEOUT, wait_until

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.errors import SourceError

Drain = Callable[..., list[list[dict[str, Any]]]]
Context = Callable[..., ReadContext]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(TIMEOUT)
        yield listening


def receiving(
    server: socket.socket, place: Path, settings: LogSettings | None = None
) -> AbstractContextManager[WriteAheadLog]:
    port = server.getsockname()[1]
    return running(connect.socket(host="127.0.0.1", port=port, reconnect="10 milliseconds"), place, settings)


def lines(log: WriteAheadLog) -> list[bytes]:
    return [record.value for record in records(log)]


def test_lines_are_stored_whole(server: socket.socket, tmp_path: Path) -> None:
    with receiving(server, tmp_path) as log:
        with server.accept()[0] as connection:
            connection.sendall(b"one\r\ntw")
            wait_until(lambda: lines(log) == [b"one"])
            connection.sendall(b"o\n\nthree without an end")
        wait_until(lambda: lines(log) == [b"one", b"two", b"", b"three without an end"])


def test_server_that_comes_back_is_read_on(server: socket.socket, tmp_path: Path) -> None:
    with receiving(server, tmp_path) as log:
        for text in (b"before\n", b"after\n"):
            with server.accept()[0] as connection:
                connection.sendall(text)
        wait_until(lambda: lines(log) == [b"before", b"after"])


@pytest.mark.parametrize("overflow", ["backpressure", "drop_newest", "drop_oldest"])
def test_full_log_makes_the_server_wait_or_drops_lines(
    server: socket.socket, tmp_path: Path, overflow: Any
) -> None:
    text = b"".join(b"%05d" % number + b"." * 1000 + b"\n" for number in range(3000))
    with receiving(server, tmp_path, LogSettings(limit=300_000, overflow=overflow)) as log:
        with server.accept()[0] as connection:
            sender = threading.Thread(target=connection.sendall, args=(text,))
            sender.start()
            if overflow == "backpressure":
                stored = 0
                while stored < 3000:
                    wait_until(lambda: log.end > stored)  # noqa: B023 - called at once
                    stored = log.plan(stored, 10_000)
                    log.release(stored)
            sender.join()
        wait_until(lambda: log.counters.received == 3000)
        assert (log.counters.dropped == 0) == (overflow == "backpressure")
    counters = log.counters
    assert counters.stored + counters.dropped_newest == 3000


def test_lines_reach_a_query_and_reach_it_again_after_a_crash(
    spark: SparkSession, context: Context, drained: Drain, server: socket.socket
) -> None:
    options = connect.socket(host="127.0.0.1", port=server.getsockname()[1])
    reader = options.reader()
    frame = reader.stream(spark, context())
    with server.accept()[0] as connection:
        connection.sendall(b"hello world\nhello\n")
        received: list[bytes] = []

        def enough() -> bool:
            received.extend(row["value"] for rows in drained(frame, "a") for row in rows)
            return len(received) >= 2

        wait_until(enough)
        assert received == [b"hello world", b"hello"]
        assert [row["value"] for rows in drained(frame, "b") for row in rows] == received
    reader.close()


def test_server_that_is_away_is_reported_at_once(spark: SparkSession, context: Context) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # it does not listen, and no other process can take its port
        port = silent.getsockname()[1]
        message = (
            rf"tx: no server answers at 127\.0\.0\.1:{port}: Connection refused\n"
            rf"  hint: start the server first; .* nc -lk {port}"
        )
        with pytest.raises(SourceError, match=message):
            connect.socket(host="127.0.0.1", port=port).reader().stream(spark, context())


def test_socket_is_no_batch(spark: SparkSession, context: Context) -> None:
    with pytest.raises(SourceError, match="tx: socket has no end, so it cannot be read as a batch"):
        connect.socket(port=1).reader().batch(spark, context())
