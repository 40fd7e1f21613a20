"""Slow clients, many connections and many streams, over real sockets."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
import uvicorn

from headrace.devtools.ports import free_ports
from headrace.jobs.live import MAX_STREAMS, StreamLimit
from headrace.jobs.security import connections
from headrace.jobs.server import create_server
from headrace.jobs.service import JobService
from tests.services.jobs.conftest import kill_all, submit
from tests.support.http_server import running
from tests.support.waiting import TIMEOUT, wait_until

LIMIT = 0.5


@pytest.fixture
def server(service: JobService, monkeypatch: pytest.MonkeyPatch) -> uvicorn.Server:
    """The server of a service, with short time limits."""
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "SEND_SECONDS"):
        monkeypatch.setattr(connections, name, LIMIT)
    return create_server(service, port=free_ports(1)[0])


@pytest.fixture
def url(server: uvicorn.Server, service: JobService) -> Iterator[str]:
    with running(server) as url:
        yield url
        kill_all(service)


@pytest.fixture
def private(server: uvicorn.Server, service: JobService, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The path of a socket of the server: unlike a port, no other process on this machine connects to it."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", TIMEOUT)
    with TemporaryDirectory() as place:  # the path of a test is too long for a socket
        server.config.uds = f"{place}/http"
        with running(server):
            yield server.config.uds
        kill_all(service)


@contextmanager
def connected(url: str, *options: tuple[int, int, int]) -> Iterator[socket.socket]:
    """Connect to a URL, or to the path of a socket."""
    is_path = url.startswith("/")
    with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET) as client:
        for option in options:
            client.setsockopt(*option)
        client.settimeout(TIMEOUT)
        client.connect(url if is_path else ("127.0.0.1", int(url.rpartition(":")[2])))
        yield client


def is_closed(client: socket.socket) -> bool:
    """Wait until the server closes a connection; False if it answers."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def drip(client: socket.socket, content: bytes) -> bool:
    """Send a byte in each tenth of the limit until the server closes the connection; False if it does not."""
    client.settimeout(LIMIT / 10)
    for number in range(200):
        try:
            client.send(content[number : number + 1])
            return is_closed(client)
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


REQUEST = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b"POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET /api", REQUEST], ids=["nothing", "half a line", "no end"])
def test_headers_that_stop_arriving_close_the_connection(url: str, sent: bytes) -> None:
    with connected(url) as client:
        client.sendall(sent)
        assert is_closed(client)


def test_headers_that_arrive_too_slowly_close_the_connection(url: str) -> None:
    with connected(url) as client:
        assert drip(client, REQUEST + b"X-Filler: " + b"x" * 200)


def test_a_second_request_that_stops_arriving_closes_the_connection(url: str) -> None:
    with connected(url) as client:
        client.sendall(REQUEST + b"\r\n")
        answer = HTTPResponse(client)
        answer.begin()
        assert answer.status == 200
        assert answer.read()
        client.sendall(b"GET /api")
        assert is_closed(client)


def test_a_body_that_stops_arriving_closes_the_connection(url: str) -> None:
    with connected(url) as client:
        client.sendall(BODY + b"Content-Length: 1000\r\n\r\n{")
        assert is_closed(client)


def test_a_body_that_arrives_too_slowly_closes_the_connection(url: str) -> None:
    with connected(url) as client:
        client.sendall(BODY + b"Content-Length: 1000\r\n\r\n")
        assert drip(client, b" " * 1000)


def test_a_large_body_has_the_time_that_its_bytes_need(url: str) -> None:
    chunk = b" " * 16384
    with connected(url) as client:
        client.sendall(BODY + b"Content-Length: %d\r\n\r\n" % (20 * len(chunk)))
        client.settimeout(LIMIT / 5)
        for _ in range(19):  # four times the limit
            client.sendall(chunk)
            with pytest.raises(TimeoutError):
                client.recv(1)
        client.settimeout(TIMEOUT)
        client.sendall(chunk)
        assert client.recv(100).startswith(b"HTTP/1.1 422")


def test_a_client_that_does_not_read_its_response_is_disconnected(
    url: str, server: uvicorn.Server, service: JobService
) -> None:
    job = submit(service)
    output = service.directory(job.id).checkpoint / "unrouted" / "n.late"
    output.mkdir(parents=True)
    (output / "part-0.json").write_text("x" * (20 << 20))  # more than the kernel buffers
    request = f"GET /api/v1/jobs/{job.id}/side_outputs/n.late HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connected(url, (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)) as client:
        client.sendall(request.encode())
        wait_until(lambda: len(server.server_state.connections) == 1)
        wait_until(lambda: len(server.server_state.connections) == 0)


def test_an_idle_connection_makes_room_for_a_new_one(private: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(private)) for _ in range(3)]
        for client in clients:
            client.sendall(b"GET /api")
        assert _status(private, REQUEST + b"\r\n").startswith(b"HTTP/1.1 200")
        assert is_closed(clients[0])
        clients[2].sendall(REQUEST.removeprefix(b"GET /api") + b"\r\n")
        assert clients[2].recv(100).startswith(b"HTTP/1.1 200")


def test_a_connection_is_refused_if_all_others_are_in_use(
    private: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    stream = REQUEST.replace(b"health", b"live") + b"\r\n"
    with connected(private) as first, connected(private) as second:
        for client in (first, second):
            client.sendall(stream)
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        with connected(private) as third:
            assert is_closed(third)


def test_a_service_answers_while_400_requests_are_half_open(tmp_path: Path) -> None:
    """With 256 file descriptors, and half of them for connections."""
    port = free_ports(1)[0]
    serve = f"{sys.executable} -m headrace.cli.app serve --port {port} --data {tmp_path}/data"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(["bash", "-c", f"ulimit -n 256; exec {serve}"], stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is None and _answers(url))
        clients: list[socket.socket] = []
        with ExitStack() as stack:
            for _ in range(400):
                client = stack.enter_context(connected(url))
                with suppress(ConnectionError):  # it may have made room for a newer one
                    client.sendall(b"GET /api")
                clients.append(client)
            assert httpx.get(f"{url}/api/v1/health", timeout=TIMEOUT).status_code == 200
            assert any(map(_is_open, clients))  # the answer did not wait for their time limit
    finally:
        process.terminate()
        process.wait()
    log_text = (tmp_path / "log").read_text()
    assert len(log_text) < 10_000, log_text[-5000:]


def _is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(100) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/v1/health").status_code == 200
    except httpx.TransportError:
        return False


def test_errors_of_accepting_connections_are_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, loop = connections._AcceptErrors(), asyncio.new_event_loop()
    error = {"message": "socket.accept() out of system resource", "exception": OSError("Too many open files")}
    for _ in range(1000):
        handler(loop, error)
    [record] = caplog.records
    assert record.getMessage() == "connections cannot be accepted: Too many open files"
    handler(loop, {"message": "a task failed"})
    assert caplog.records[1].getMessage() == "a task failed"
    loop.close()


def test_a_user_has_a_limited_number_of_streams(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", TIMEOUT)
    stream = REQUEST.replace(b"health", b"live") + b"\r\n"
    page = REQUEST.replace(b"api/v1/health", b"ui/events/jobs") + b"\r\n"
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(url)) for _ in range(MAX_STREAMS)]
        for number, client in enumerate(clients):
            client.sendall(page if number % 2 else stream)
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        refused = httpx.get(f"{url}/api/v1/live")
        assert (refused.status_code, refused.json()["detail"]) == (
            429,
            "too many open event streams of this user",
        )
        clients[0].close()
        wait_until(lambda: _status(url, stream).startswith(b"HTTP/1.1 200"))


def _status(url: str, request: bytes) -> bytes:
    with connected(url) as client:
        client.sendall(request)
        return client.recv(100)


def test_the_streams_of_each_user_are_counted_separately() -> None:
    limit = StreamLimit(1)
    with limit.hold("ada") as first, limit.hold("ada") as second, limit.hold("ben") as other:
        assert (first, second, other) == (True, False, True)
    with limit.hold("ada") as again:
        assert again


@pytest.mark.parametrize(("files", "expected"), [(256, 128), (resource.RLIM_INFINITY, 500), (10**6, 500)])
def test_connections_leave_half_of_the_file_descriptors(
    files: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert connections.max_connections() == expected
