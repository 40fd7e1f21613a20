"""The socket source, against a real server: nothing that was read is lost, and a server may come back."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from waiting import PATIENCE, wait_until

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.socket.spool import Spool
from headrace.errors import SourceError

Drain = Callable[..., list[list[dict[str, Any]]]]
Context = Callable[..., ReadContext]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        yield listening


def two_lines(drain: Callable[[], list[list[dict[str, Any]]]]) -> list[bytes]:
    """Run the query until two lines have come."""
    came: list[bytes] = []

    def enough() -> bool:
        came.extend(row["value"] for rows in drain() for row in rows)
        return len(came) >= 2

    wait_until(enough)
    return came


def spooled(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(directory.glob("*.txt")))


def spool(server: socket.socket, directory: Path, **options: float) -> Spool:
    return Spool(server.getsockname(), directory, **{"reconnect": 0.01, "keep": 3600, **options})


def test_lines_are_spooled_whole(server: socket.socket, tmp_path: Path) -> None:
    reading = spool(server, tmp_path)
    with server.accept()[0] as connection:
        connection.sendall(b"one\r\ntw")
        wait_until(lambda: spooled(tmp_path) == b"one\n")
        connection.sendall(b"o\nthree without an end")
    wait_until(lambda: spooled(tmp_path) == b"one\ntwo\nthree without an end\n")
    reading.stop()


def test_server_that_comes_back_is_read_on(server: socket.socket, tmp_path: Path) -> None:
    reading = spool(server, tmp_path)
    for text in (b"before\n", b"after\n"):
        with server.accept()[0] as connection:
            connection.sendall(text)
    wait_until(lambda: spooled(tmp_path) == b"before\nafter\n")
    reading.stop()


def test_spool_goes_on_where_a_dead_process_was(server: socket.socket, tmp_path: Path) -> None:
    (tmp_path / "000000000007.txt").write_bytes(b"seven\n")
    (tmp_path / ".open").write_bytes(b"eight\n")
    reading = spool(server, tmp_path)
    with server.accept()[0] as connection:
        connection.sendall(b"nine\n")
        wait_until((tmp_path / "000000000009.txt").exists)
    reading.stop()
    assert spooled(tmp_path) == b"seven\neight\nnine\n"


def test_old_parts_are_removed_but_never_the_newest(server: socket.socket, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number:012d}.txt").write_bytes(b"old\n")
    reading = spool(server, tmp_path, keep=-1)
    wait_until(lambda: len(list(tmp_path.glob("*.txt"))) == 1)
    reading.stop()
    assert (tmp_path / "000000000002.txt").exists()


def test_lines_reach_two_queries_over_one_connection(
    spark: SparkSession, context: Context, drained: Drain, server: socket.socket
) -> None:
    options = connect.socket(host="127.0.0.1", port=server.getsockname()[1])
    readers = [options.reader(), options.reader()]
    frames = [reader.stream(spark, context()) for reader in readers]
    with server.accept()[0] as connection:
        connection.sendall(b"hello world\nhello\n")
        for name, frame in zip("ab", frames, strict=True):
            assert two_lines(partial(drained, frame, name)) == [b"hello world", b"hello"]
    for reader in readers:
        reader.close()


def test_server_that_is_away_is_told_at_once(spark: SparkSession, context: Context) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # it doesn't listen, and nobody else can take its port
        port = silent.getsockname()[1]
        message = rf"tx: no server answers at 127\.0\.0\.1:{port}: Connection refused\n  hint: start the server first; .* nc -lk {port}"
        with pytest.raises(SourceError, match=message):
            connect.socket(host="127.0.0.1", port=port).reader().stream(spark, context())


def test_socket_is_no_batch(spark: SparkSession, context: Context) -> None:
    with pytest.raises(SourceError, match="tx: a socket has no end, so it can't be read as a batch"):
        connect.socket(port=1).reader().batch(spark, context())
