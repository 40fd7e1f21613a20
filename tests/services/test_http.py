"""HTTP with real clients and servers: every answer, durable before 202, ETag and cursor, nothing lost."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext
from headrace.connectors.failpoints import watch
from headrace.connectors.http.pull import PullReceiver
from headrace.connectors.http.push import PushReceiver
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.devtools.ports import free_ports
from headrace.errors import DamagedFileError, SourceError
from headrace.formats import Csv
from headrace.testing import delivery
from tests.support.receiving import receiving, records, start
from tests.support.waiting import wait_until

ROW = {"id": 1}


@contextmanager
def endpoint(place: Path, settings: LogSettings | None = None, **options: Any) -> Iterator[Endpoint]:
    """Run an endpoint with the log of a directory, as a source does."""
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    source = connect.http(listen=listen, path="/events", **options)
    with receiving(source, place, settings) as log, httpx.Client(timeout=60) as client:
        yield Endpoint(f"http://{listen}/events", client, log)


class Endpoint:
    def __init__(self, url: str, client: httpx.Client, log: WriteAheadLog) -> None:
        self.url, self.client, self.log = url, client, log

    def post(self, body: Any = None, **options: Any) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(self.url, content=content, **options)


def values(log: WriteAheadLog) -> list[Any]:
    return [json.loads(record.value) for record in records(log)]


def test_single_rows_and_batches_are_accepted_once_durable(tmp_path: Path) -> None:
    order: list[str] = []
    with endpoint(tmp_path) as http, watch(order.append):
        answer = http.post(ROW)
        order.append("answered")
        assert (answer.status_code, answer.json()) == (202, {"rows": 1})
        assert order.index("log.synced") < order.index("answered")
        assert http.post([{"id": 2}, {"id": 3}]).json() == {"rows": 2}
        lines = {"Content-Type": "application/x-ndjson"}
        assert http.post(b'{"id": 4}\n{"id": 5}\n', headers=lines).json() == {"rows": 2}
        assert http.post([]).json() == {"rows": 0}
        assert values(http.log) == [{"id": number} for number in range(1, 6)]


def test_bad_requests_are_refused_with_a_reason(tmp_path: Path) -> None:
    with endpoint(tmp_path, max_body=2000) as http:
        for body in (b"{", b"[1]", b"\xff\xfe", b"[" * 1900, b'{"n": NaN}', b""):
            answer = http.post(body)
            assert (answer.status_code, bool(answer.json()["error"])) == (400, True)
        assert http.post(b'{"n": "' + b"." * 5000 + b'"}').status_code == 413
        assert http.client.get(http.url).status_code == 405
        assert http.client.post(f"{http.url}/elsewhere", content=b"{}").status_code == 404
        assert (http.post(ROW).status_code, values(http.log)) == (202, [ROW])


def test_large_body_is_refused_before_it_is_read(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b"." * 1_000_000

    with endpoint(tmp_path, max_body="1 MB") as http:
        with suppress(httpx.WriteError):  # the server may close the connection first
            assert http.client.post(http.url, content=parts()).status_code == 413
        assert http.post(ROW).status_code == 202


def test_token_is_required(tmp_path: Path) -> None:
    with endpoint(tmp_path, token="right") as http:
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic right"}):
            assert http.post(ROW, headers=header).status_code == 401
        assert http.post(ROW, headers={"Authorization": "Bearer right"}).status_code == 202
        assert values(http.log) == [ROW]


def test_rate_limit_answers_429_with_the_time_to_wait(tmp_path: Path) -> None:
    with endpoint(tmp_path, rate_limit=2) as http:
        answers = [http.post(ROW) for _ in range(30)]
        limited = [answer for answer in answers if answer.status_code == 429]
        assert limited
        assert limited[0].headers["retry-after"] == "1"
        assert len(values(http.log)) == 30 - len(limited)


def test_slow_client_is_refused_and_does_not_block_others(tmp_path: Path) -> None:
    with endpoint(tmp_path, body_timeout="2 seconds") as http:
        host, port = urlsplit(http.url).hostname, urlsplit(http.url).port
        with socket.create_connection((host, port)) as slow:
            slow.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            assert http.post(ROW).status_code == 202
            slow.settimeout(60)
            assert b" 408 " in slow.recv(1000)


def test_repeated_request_with_a_key_is_stored_once(tmp_path: Path) -> None:
    with endpoint(tmp_path) as http:
        for _ in range(3):
            assert http.post([ROW, ROW], headers={"Idempotency-Key": "a"}).status_code == 202
        assert http.post([ROW], headers={"Idempotency-Key": "b"}).status_code == 202
        assert values(http.log) == [ROW] * 3


@pytest.mark.parametrize("overflow", ["backpressure", "drop_newest", "drop_oldest"])
def test_full_log_answers_429_or_drops_the_oldest(tmp_path: Path, overflow: Any) -> None:
    settings = LogSettings(limit=64_000, overflow=overflow)
    with endpoint(tmp_path, settings) as http:
        statuses = [http.post({"id": number, "text": "." * 1000}).status_code for number in range(150)]
        counters, stored = http.log.counters, values(http.log)
        if overflow == "drop_oldest":
            assert set(statuses) == {202}
            assert counters.dropped_oldest == 150 - len(stored)
            assert stored[-1]["id"] == 149
        else:
            assert set(statuses) == {202, 429}
            assert statuses.count(429) == counters.refused + counters.dropped_newest
            assert [row["id"] for row in stored] == list(range(len(stored)))
            http.log.release(http.log.plan(0, 1000))
            assert http.post(ROW).status_code == 202


def test_port_in_use_is_an_error(tmp_path: Path) -> None:
    with endpoint(tmp_path / "a") as http:
        port = urlsplit(http.url).port
        source = connect.http(listen=f"127.0.0.1:{port}")
        log = WriteAheadLog(tmp_path / "b")
        with pytest.raises(
            SourceError, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"
        ):
            PushReceiver(source, ReadContext("p", "tx", None, None, "")).start(log)
        log.close()


def test_rows_pushed_to_a_pipeline_reach_its_sink_and_others_are_dead_letters(
    spark: SparkSession, tmp_path: Path
) -> None:
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    pipeline = Pipeline("pushed")
    source = connect.http(listen=listen, path="/events", metadata=["client"])
    rows = pipeline.read("rows", source, format="json", schema="id int")
    out, letters = connect.memory(), connect.memory()
    rows.write("out", out)
    rows.dead_letters.write("letters", letters)
    run = pipeline.start(checkpoint=tmp_path / "checkpoint")
    sent = httpx.post(f"http://{listen}/events", json=[{"id": 1}, {"id": "text"}, {"id": 2}])
    assert sent.status_code == 202
    wait_until(lambda: len(out.contents()) == 2 and len(letters.contents()) == 1, run)
    run.stop()
    assert out.contents() == [{"id": 1, "client": "127.0.0.1"}, {"id": 2, "client": "127.0.0.1"}]


def begin(listen: str, size: int) -> socket.socket:
    """Send the head of a request with a body of that size, and one byte of it."""
    host, _, port = listen.partition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    head = "POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer right\r\n"
    connection.sendall(f"{head}Content-Length: {size}\r\n\r\n{{".encode())
    return connection


def test_job_continues_although_requests_are_fuzzed(spark: SparkSession, tmp_path: Path) -> None:
    """Each request is refused with a reason, or its records are rows or dead letters."""
    listen, chance = f"127.0.0.1:{free_ports(1)[0]}", random.Random(19)
    pipeline = Pipeline("fuzzed")
    source = connect.http(
        listen=listen, path="/events", token="right", max_body="64 KB", body_timeout="1 second"
    )
    rows = pipeline.read("rows", source, format="json", schema="id int, inner struct<a: int>")
    out, letters = connect.memory(), connect.memory()
    rows.write("out", out)
    rows.dead_letters.write("letters", letters)
    deep = b'{"id": 1, "inner": ' + b'{"a":' * 400 + b"1" + b"}" * 400 + b"}"
    bodies = [deep, b'{"id": ' + b"[" * 30_000, b'{"id": "\\ud800"}', b'{"id": 99999999999}', b"\x00" * 10]
    for _ in range(60):
        fuzzed = bytearray(json.dumps([{"id": n, "inner": {"a": n}} for n in range(3)]).encode())
        for _ in range(chance.randint(1, 6)):
            fuzzed[chance.randrange(len(fuzzed))] = chance.randrange(256)
        bodies.append(bytes(fuzzed))
    headers = {"Authorization": "Bearer right"}
    accepted = 0
    with pipeline.start(checkpoint=tmp_path / "checkpoint") as run, ExitStack() as open_sockets:
        slow, large = (open_sockets.enter_context(begin(listen, size)) for size in (9, 100 << 20))
        with httpx.Client(base_url=f"http://{listen}", timeout=60) as client:
            for body in bodies:
                answer = client.post("/events", content=body, headers=headers)
                assert answer.status_code in (202, 400), (body, answer.text)
                accepted += answer.json().get("rows", 0)
            for wrong in (b"", b"Bearer \xc3\xa4", b"Bearer"):
                header = {b"Authorization": wrong}
                assert client.post("/events", content=b"{}", headers=header).status_code == 401
            assert client.post("/events", content=b'{"id": -7}', headers=headers).status_code == 202
        assert b" 413 " in large.recv(1000)
        assert b" 408 " in slow.recv(1000)
        wait_until(lambda: any(row["id"] == -7 for row in out.contents()), run)
        wait_until(lambda: len(out.contents()) + len(letters.contents()) == accepted + 1, run)
        run.stop()
    assert letters.contents()


class Items:
    """A server with rows, ETag and a cursor parameter."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.queries: list[dict[str, list[str]]] = []
        self.failing = 0
        self.redirect = ""
        items = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                items.answer(self)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/items"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        query = parse_qs(urlsplit(request.path).query)
        since = int(query.get("id", ["0"])[0])
        body = json.dumps([row for row in self.rows if row["id"] >= since]).encode()
        etag = f'"{hash(body)}"'
        status = 200
        if self.failing:
            status, self.failing = 503, self.failing - 1
        elif request.headers.get("If-None-Match") == etag:
            status = 304
        elif self.redirect and request.path.startswith("/items"):
            status = 302
        self.statuses.append(status)
        self.queries.append(query)
        request.send_response(status)
        if status == 302:
            request.send_header("Location", self.redirect)
        request.send_header("ETag", etag)
        request.send_header("Content-Length", str(len(body) if status == 200 else 0))
        request.end_headers()
        if status == 200:
            request.wfile.write(body)


@pytest.fixture
def items() -> Iterator[Items]:
    server = Items()
    yield server
    server.server.shutdown()
    server.server.server_close()


def polling(items: Items, place: Path, **options: Any) -> AbstractContextManager[WriteAheadLog]:
    return receiving(connect.http(poll=items.url, **{"every": "20 milliseconds", **options}), place)


def test_polled_rows_are_stored_once_by_cursor_also_after_a_restart(items: Items, tmp_path: Path) -> None:
    items.rows = [{"id": 1}, {"id": 2}]
    with polling(items, tmp_path, cursor="id") as log:
        wait_until(lambda: log.end == 2 and 304 in items.statuses)
        items.rows += [{"id": 2, "n": "same id"}, {"id": 3}]
        wait_until(lambda: log.end == 4)
    items.rows += [{"id": 4}]
    with polling(items, tmp_path, cursor="id") as log:
        wait_until(lambda: log.end == 5)
        assert [row["id"] for row in values(log)] == [1, 2, 2, 3, 4]
    assert items.queries[-1] == {"id": ["3"]} or items.queries[-1] == {"id": ["4"]}


def test_a_missing_state_of_a_poll_is_an_error(items: Items, tmp_path: Path) -> None:
    items.rows = [{"id": 1}]
    with polling(items, tmp_path, cursor="id") as log:
        wait_until(lambda: log.end == 1 and 304 in items.statuses)
    [state] = tmp_path.rglob("poll.json")
    state.unlink()
    with (
        pytest.raises(DamagedFileError, match="cursor of the last request") as error,
        polling(items, tmp_path),
    ):
        pass
    assert error.value.where == str(state)


def test_unchanged_answer_without_a_cursor_is_stored_once(items: Items, tmp_path: Path) -> None:
    items.rows = [{"id": 1}]
    with polling(items, tmp_path) as log:
        wait_until(lambda: items.statuses.count(304) > 2)
        assert values(log) == [{"id": 1}]


def test_unavailable_server_is_retried_and_a_refusal_ends_the_run(items: Items, tmp_path: Path) -> None:
    items.rows, items.failing = [{"id": 1}], 2
    with polling(items, tmp_path) as log:
        wait_until(lambda: log.end == 1)
    source = connect.http(poll=f"{items.url}/x", items="data")
    receiver = PullReceiver(source, ReadContext("p", "tx", None, None, str(tmp_path / "other")))
    log = WriteAheadLog(tmp_path / "other" / "log")
    receiver.start(log)
    wait_until(lambda: log.failed)
    receiver.stop()
    with pytest.raises(SourceError, match=r"/items/x: the answer has no field `data`(.|\n)*set `items`"):
        log.plan(0, 1)
    log.close()


def test_redirects_are_followed_on_the_same_host_only(items: Items, tmp_path: Path) -> None:
    items.rows, items.redirect = [{"id": 1}], "/other"
    with polling(items, tmp_path) as log:
        wait_until(lambda: log.end == 1)
    items.redirect = items.url.replace("127.0.0.1", "localhost").replace("/items", "/other")
    source = connect.http(poll=items.url, headers={"X-Key": "secret"})
    receiver = PullReceiver(source, ReadContext("p", "tx", None, None, str(tmp_path / "other")))
    log = WriteAheadLog(tmp_path / "other" / "log")
    receiver.start(log)
    wait_until(lambda: log.failed)
    receiver.stop()
    with pytest.raises(SourceError, match="answers 302 and redirects to another host, localhost"):
        log.plan(0, 1)
    log.close()


def has_received(log: WriteAheadLog, messages: int) -> bool:
    return log.counters.received == messages


def test_rows_that_do_not_fit_the_log_are_dropped_and_polling_continues(items: Items, tmp_path: Path) -> None:
    source = connect.http(poll=items.url, every="20 milliseconds", overflow="drop_newest")
    with receiving(source, tmp_path, LogSettings(limit=64_000, overflow="drop_newest")) as log:
        for answer in range(4):
            items.rows = [{"id": number, "text": f"{answer}" * 2_000} for number in range(10)]
            wait_until(partial(has_received, log, 10 * (answer + 1)))
        assert log.counters.dropped
        assert not log.failed


@pytest.mark.parametrize(
    ("options", "rows", "reason"),
    [
        ({}, [{"id": 1, "text": "x" * 40_000}], "exceed half of `log_limit`"),
        ({"cursor": "id", "format": "csv"}, [{"id": 1}], "a row has no text or number in `id`"),
    ],
)
def test_answers_that_cannot_be_stored_end_the_run(
    items: Items, tmp_path: Path, options: dict[str, Any], rows: list[Any], reason: str
) -> None:
    items.rows = rows
    source = connect.http(poll=items.url, **options)
    encoding = Csv() if "format" in options else None
    receiver = PullReceiver(source, ReadContext("p", "tx", None, encoding, str(tmp_path)))
    log = WriteAheadLog(tmp_path / "log", LogSettings(limit=64_000))
    receiver.start(log)
    wait_until(lambda: log.failed)
    receiver.stop()
    with pytest.raises(SourceError, match=reason):
        log.plan(0, 1)
    log.close()


@pytest.mark.proof
def test_every_polled_row_arrives_although_runs_are_killed(items: Items) -> None:
    def feed(trial: str) -> delivery.Feed:
        items.rows = []

        def add(ids: Any) -> None:
            items.rows = items.rows + [{"id": number} for number in ids]

        source = connect.http(poll=items.url, cursor="id", every="50 milliseconds")
        return delivery.Feed(source, add, format="json")

    report = delivery.check_source(feed)
    assert (report.lost, report.doubled) == (0, 0), str(report)


def test_acknowledged_rows_survive_a_kill_and_damage_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_ports(1)[0]}"
    place = tmp_path / "checkpoint" / "sources" / "rows"
    process = start("http", {"listen": listen, "path": "/events"}, place)
    for number in range(20):
        assert httpx.post(f"http://{listen}/events", json={"id": number}).status_code == 202
    process.kill()
    process.join()
    pipeline, out = Pipeline("pushed"), connect.memory()
    source = connect.http(listen=listen, path="/events")
    pipeline.read("rows", source, format="json", schema="id int").write("out", out)
    (segment,) = (place / "log").glob("*.wal")
    content = segment.read_bytes()

    segment.write_bytes(content.replace(b'{"id":7}', b'{"id":6}').replace(b'{"id": 7}', b'{"id": 6}'))
    with pytest.raises(
        DamagedFileError, match="the messages 7 to 7 of the write-ahead log cannot be read"
    ) as caught:
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert caught.value.where == str(segment)

    segment.write_bytes(content + content[-30:])  # a write that the kill interrupted
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert [row["id"] for row in out.contents()] == list(range(20))
