"""A MySQL server may request any file of its client; it gets the rows that are loaded, and nothing else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pymysql
import pytest

from headrace.connectors.mysql.dialect import MySQLDialect
from headrace.connectors.retry import server_errors
from headrace.errors import SourceError

GREETING = (
    b"\x0a8.0.0\0" + bytes(4) + b"x" * 8 + b"\0\x8c\xa2\x2d\x02\0\x08\0\x15" + bytes(10) + b"y" * 12
    + b"\0mysql_native_password\0"
)  # fmt: skip
OK = b"\0\0\0\x02\0\0\0"
LOAD = b"LOAD DATA LOCAL INFILE '"


class Server:
    """Answers a statement that begins with `at` with a request for a file; None: for the one that it names."""

    def __init__(self, at: bytes, file: Path | None) -> None:
        self.at, self.file, self.received = at, file, b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"mysql://root@127.0.0.1:{self._socket.getsockname()[1]}/shop"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):  # the client has closed it
            self._client.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        client, _ = self._socket.accept()
        self._client = client
        with suppress(OSError), client, client.makefile("rb") as stream:
            number = 0

            def send(content: bytes) -> None:
                client.sendall(len(content).to_bytes(3, "little") + bytes([number]) + content)

            def read() -> bytes | None:
                nonlocal number
                if not (head := stream.read(4)):
                    return None
                number = head[3] + 1
                return stream.read(int.from_bytes(head[:3], "little"))

            send(GREETING)
            read()
            send(OK)
            while (packet := read()) is not None:
                if packet[1:].startswith(self.at):
                    send(b"\xfb" + (str(self.file).encode() if self.file else packet.split(b"'")[1]))
                    while content := read():
                        self.received += content
                    if content is None:
                        return
                send(OK)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("hush")
    return tmp_path / "secret"


@pytest.fixture
def server(request: pytest.FixtureRequest, secret: Path) -> Iterator[Server]:
    at, other = request.param
    server = Server(at, secret if other else None)
    yield server
    server.close()


@pytest.mark.parametrize("server", [(b"SET time_zone", True)], indirect=True)
@pytest.mark.parametrize("writes", [False, True])
def test_server_gets_no_file_when_a_session_is_opened(server: Server, writes: bool) -> None:
    dialect = MySQLDialect(server.url, writes=writes)
    with (
        pytest.raises(SourceError, match="tx: it cannot be read: the server requests a file of this machine"),
        server_errors(dialect, SourceError, "it cannot be read: ", where="tx"),
    ):
        dialect.connect()
    assert server.received == b""


@pytest.mark.parametrize("server", [(LOAD, True)], indirect=True)
def test_server_gets_no_other_file_than_the_rows(server: Server) -> None:
    session = MySQLDialect(server.url, writes=True).connect()
    with pytest.raises(pymysql.OperationalError, match="the server requests a file of this machine"):
        session.load("stage", {"id": "int"}, 1, [b"0\t1\n"])
    assert server.received == b""
    session.close()


@pytest.mark.parametrize("server", [(b"SELECT", True)], indirect=True)
def test_server_gets_no_file_for_a_query(server: Server) -> None:
    session = MySQLDialect(server.url, writes=True).connect()
    with pytest.raises(RuntimeError, match="LOAD_LOCAL"):
        session.rows("SELECT 1")
    assert server.received == b""


@pytest.mark.parametrize("server", [(LOAD, False)], indirect=True)
def test_server_gets_the_rows_that_are_loaded(server: Server) -> None:
    session = MySQLDialect(server.url, writes=True).connect()
    session.load("stage", {"id": "int"}, 1, [b"0\t1\n"])
    assert server.received == b"0\t1\n"
    session.close()
