"""WebSockets with real peers: a source that reconnects, and a sink whose slow clients do not delay others."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as connect_client
from websockets.sync.server import ServerConnection, serve

from headrace import Pipeline, connect
from headrace.connectors.base import WriteContext
from headrace.connectors.websocket.sink import Broadcaster
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.devtools.ports import free_ports
from headrace.errors import DeliveryError, OptionError, SourceError
from tests.support.receiving import receiving as running
from tests.support.receiving import records
from tests.support.waiting import TIMEOUT, wait_until


class Feed:
    """A server that sends what a test gives it to the client that is connected."""

    def __init__(self) -> None:
        self.connections: list[ServerConnection] = []
        self.received: list[str | bytes] = []
        self.server = serve(self._handle, "127.0.0.1", 0, process_request=self._check)
        self.url = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}/feed"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def send(self, *messages: str | bytes) -> None:
        wait_until(lambda: bool(self.connections))
        for message in messages:
            self.connections[-1].send(message)

    def _check(self, connection: ServerConnection, request: Any) -> Any:
        return connection.respond(404, "not here\n") if request.path != "/feed" else None

    def _handle(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        for message in connection:
            self.received.append(message)


@pytest.fixture
def feed() -> Iterator[Feed]:
    running = Feed()
    yield running
    running.server.shutdown()


def receiving(
    url: str, place: Path, settings: LogSettings | None = None, **options: Any
) -> AbstractContextManager[WriteAheadLog]:
    return running(connect.websocket(url=url, **options), place, settings)


def values(log: WriteAheadLog) -> list[bytes]:
    return [record.value for record in records(log)]


def test_text_and_binary_messages_are_stored_after_the_subscription(feed: Feed, tmp_path: Path) -> None:
    with receiving(feed.url, tmp_path, subscribe=['{"op": "subscribe"}']) as log:
        feed.send("a", b"\xff\x00", "")
        wait_until(lambda: log.end == 3)
        assert values(log) == [b"a", b"\xff\x00", b""]
        assert feed.received == ['{"op": "subscribe"}']


def test_source_reconnects_after_the_server_closed_the_connection(feed: Feed, tmp_path: Path) -> None:
    with receiving(feed.url, tmp_path) as log:
        feed.send("a")
        wait_until(lambda: log.end == 1)
        feed.connections[-1].close()
        wait_until(lambda: len(feed.connections) == 2)
        feed.send("b")
        wait_until(lambda: log.end == 2)
        assert values(log) == [b"a", b"b"]


def test_too_large_message_closes_the_connection_and_others_arrive(feed: Feed, tmp_path: Path) -> None:
    with receiving(feed.url, tmp_path, max_message="1 KB") as log:
        feed.send("." * 5000)
        wait_until(lambda: len(feed.connections) == 2)
        feed.send("after")
        wait_until(lambda: values(log) == [b"after"])


def test_full_log_stops_reading_until_there_is_room(feed: Feed, tmp_path: Path) -> None:
    with receiving(feed.url, tmp_path, LogSettings(limit=64_000)) as log:
        sender = threading.Thread(target=lambda: feed.send(*["." * 1000] * 150))
        sender.start()
        stored = 0
        while stored < 150:
            wait_until(lambda: log.end > stored)  # noqa: B023 - called at once
            stored = log.plan(stored, 1000)
            log.release(stored)
        sender.join()
        assert log.counters.dropped == 0


def test_refusal_and_missing_server_are_reported_with_the_address(feed: Feed, tmp_path: Path) -> None:
    url = feed.url.replace("/feed", "/elsewhere")
    with pytest.raises(SourceError, match=r"tx: ws://127\S+/elsewhere refuses the connection: status 404"):
        receiving(url, tmp_path).__enter__()
    port = free_ports(1)[0]
    with pytest.raises(SourceError, match=rf"tx: no WebSocket server answers at ws://127\.0\.0\.1:{port}"):
        receiving(f"ws://127.0.0.1:{port}", tmp_path / "b").__enter__()


CONTEXT = WriteContext("p", "out", "c", "append", "")


@contextmanager
def broadcasting(**options: Any) -> Iterator[tuple[Broadcaster, str]]:
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    sink = Broadcaster(connect.websocket(listen=listen, path="/live", **options), CONTEXT)
    sink.open()
    try:
        yield sink, f"{listen}/live"
    finally:
        sink.close()


def test_every_client_receives_the_backlog_and_then_new_rows() -> None:
    with broadcasting(backlog=2) as (sink, place):
        sink.publish([("1",), ("2",), ("3",)], 0)
        with connect_client(f"ws://{place}") as first, connect_client(f"ws://{place}") as second:
            assert [first.recv(TIMEOUT), first.recv(TIMEOUT)] == ["2", "3"]
            assert [second.recv(TIMEOUT), second.recv(TIMEOUT)] == ["2", "3"]
            sink.publish([("4",)], 1)
            assert first.recv(TIMEOUT) == second.recv(TIMEOUT) == "4"
        wait_until(lambda: sink.clients == 0)


HANDSHAKE = (
    b"GET /live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def test_slow_client_misses_the_oldest_messages_and_delays_no_other() -> None:
    large, count = "." * 1_000_000, 60
    with (
        broadcasting(client_queue=5) as (sink, place),
        connect_client(f"ws://{place}", max_size=None) as quick,
    ):
        host, port = place.removesuffix("/live").split(":")
        with socket.create_connection((host, int(port)), timeout=TIMEOUT) as slow:
            slow.sendall(HANDSHAKE)
            wait_until(lambda: sink.clients == 2)
            for number in range(count):
                sink.publish([(f"{number}{large}",)], number)
                assert str(quick.recv(TIMEOUT)).startswith(str(number))
            sink.publish([("the end",)], count)
            received, tail = 0, b""
            while b"the end" not in tail:
                part = slow.recv(1_000_000)
                assert part
                received, tail = received + len(part), (tail + part)[-1000:]
    assert received < count * len(large)


def test_server_sent_events_come_from_the_same_path() -> None:
    with broadcasting(backlog=1) as (sink, place), httpx.Client(timeout=60) as client:
        sink.publish([('{"n": 1}',)], 0)
        url, accept = f"http://{place}", {"Accept": "text/event-stream"}
        with client.stream("GET", url, headers=accept) as events:
            assert events.headers["access-control-allow-origin"] == "*"  # for pages of another origin
            lines = (line for line in events.iter_lines() if line.startswith("data:"))
            assert next(lines) == 'data: {"n": 1}'
            sink.publish([("a\nb",)], 1)
            assert [next(lines), next(lines)] == ["data: a", "data: b"]
        assert client.get(url).status_code == 406


def test_token_is_required_of_every_client() -> None:
    with broadcasting(token="right", backlog=1) as (sink, place):
        sink.publish([("1",)], 0)
        with (
            pytest.raises((InvalidStatus, ConnectionClosed)),
            connect_client(f"ws://{place}?token=wrong") as client,
        ):
            client.recv(TIMEOUT)
        with connect_client(f"ws://{place}?token=right") as client:
            assert client.recv(TIMEOUT) == "1"
        accept = {"Accept": "text/event-stream"}
        assert httpx.get(f"http://{place}", headers=accept).status_code == 401


def test_clients_are_disconnected_when_the_run_ends() -> None:
    with ExitStack() as run, ExitStack() as connected:
        sink, place = run.enter_context(broadcasting())
        client = connected.enter_context(connect_client(f"ws://{place}"))
        wait_until(lambda: sink.clients == 1)
        run.close()
        with pytest.raises(ConnectionClosed):
            client.recv(TIMEOUT)


def test_port_in_use_is_an_error() -> None:
    with broadcasting() as (_, place):
        sink = Broadcaster(connect.websocket(listen=place.removesuffix("/live")), CONTEXT)
        with pytest.raises(DeliveryError, match=r"out: cannot listen on 127\S+: Address already in use"):
            sink.open()


def answers(listen: str) -> bool:
    host, port = listen.split(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


def test_rows_go_from_a_feed_to_a_page(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    pipeline = Pipeline("live")
    rows = pipeline.read("rows", connect.websocket(url=feed.url), format="json", schema="page string")
    counts = rows.key_by("page").aggregate("counts", n="count(*)")
    counts.write("out", connect.websocket(listen=listen, path="/live", backlog=100))
    run = pipeline.start(checkpoint=tmp_path / "checkpoint")
    wait_until(lambda: answers(listen), run)  # the run opens its sinks after `start` has returned
    with connect_client(f"ws://{listen}/live") as page:
        feed.send('{"page": "a"}', '{"page": "a"}')
        seen: dict[str, int] = {}
        while seen.get("a") != 2:
            row = json.loads(page.recv(TIMEOUT))
            seen[row["page"]] = row["n"]
    run.stop()


def test_roles_have_their_own_options() -> None:
    with pytest.raises(OptionError, match="expected `url` for a source or `listen` for a sink"):
        connect.websocket()
