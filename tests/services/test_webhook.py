"""Webhooks to a real HTTP server: batches, idempotency keys, retries; nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import WriteContext
from headrace.connectors.webhook import Webhook
from headrace.connectors.webhook.sink import WebhookPublisher
from headrace.devtools.ports import free_ports
from headrace.errors import DeliveryError
from headrace.testing import delivery
from tests.support.http_server import serving

CONTEXT = WriteContext("p", "out", "c1", "append", "")


@dataclass
class Receiver:
    """An endpoint that keeps the requests it accepts; the next ones are answered with `answers`."""

    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    attempts: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.attempts += 1
        status, more = self.answers.pop(0) if self.answers else (204, {})
        if status < 300:
            self.requests.append((scope["raw_path"].decode(), headers, body))
        pairs = [(name.encode(), value.encode()) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": b"" if status < 300 else b"no such rule"})

    def rows(self) -> list[Any]:
        """Return the rows of all requests that have a new key."""
        bodies = {headers["idempotency-key"]: json.loads(body) for _, headers, body in self.requests}
        return [row for body in bodies.values() for row in (body if isinstance(body, list) else [body])]


@pytest.fixture
def receiver() -> Iterator[tuple[Receiver, str]]:
    app = Receiver()
    with serving(app) as url:
        yield app, url


def publish(sink: Webhook, *rows: Any, epoch: int = 0, context: WriteContext = CONTEXT) -> None:
    publisher = WebhookPublisher(sink, context)
    publisher.open()
    try:
        publisher.publish(rows, epoch)
    finally:
        publisher.close()


def test_rows_are_posted_one_by_one_or_in_batches(
    spark: SparkSession, receiver: tuple[Receiver, str], tmp_path: Path
) -> None:
    app, url = receiver
    pipeline = Pipeline("alerts")
    rows = [{"room": room, "n": n} for n, room in enumerate(["a/b", "a/b", "ä", "a/b"])]
    source = pipeline.read("rows", connect.memory(rows=rows), schema="room string, n int")
    source.write(
        "rooms", connect.webhook(f"{url}/rooms/{{room}}", batch=2, headers={"X-Key": "k"}, token="t")
    )
    source.write("lines", connect.webhook(url=f"{url}/lines", format="csv", batch=100))
    source.write("single", connect.webhook(url=f"{url}/single", method="PUT"))
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    bodies = sorted((path, body.decode()) for path, _, body in app.requests)
    assert bodies == sorted(
        [
            ("/lines", "a/b,0\na/b,1\nä,2\na/b,3\n"),
            ("/rooms/%C3%A4", '[{"n":2}]'),
            ("/rooms/a%2Fb", '[{"n":0},{"n":1}]'),
            ("/rooms/a%2Fb", '[{"n":3}]'),
            *(("/single", json.dumps(row, ensure_ascii=False, separators=(",", ":"))) for row in rows),
        ]
    )
    headers = next(headers for path, headers, _ in app.requests if path.startswith("/rooms"))
    assert (headers["x-key"], headers["authorization"]) == ("k", "Bearer t")
    assert headers["content-type"] == "application/json"


def test_request_that_is_sent_again_has_the_same_key(receiver: tuple[Receiver, str]) -> None:
    app, url = receiver
    rows: list[Any] = [([], b"1"), ([], b"2"), ([], b"3")]
    for epoch, order in ((0, 1), (0, 1), (0, -1), (1, 1)):
        publish(connect.webhook(url, batch=2), *rows[::order], epoch=epoch)
    other = WriteContext("p", "other", "c1", "append", "")
    publish(connect.webhook(url, batch=2), *rows, context=other)
    keys = [headers["idempotency-key"] for _, headers, _ in app.requests]
    assert keys[:2] == keys[2:4]
    assert len(set(keys)) == 8
    assert keys[0].startswith("c1-0-0-")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503, 521])
def test_unavailable_server_is_retried(receiver: tuple[Receiver, str], status: int) -> None:
    app, url = receiver
    app.answers += [(status, {"Retry-After": "0"})]
    publish(connect.webhook(url), ([], b"{}"))
    assert (app.attempts, len(app.requests)) == (2, 1)


def test_pause_that_the_server_requests_is_kept(
    receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, url = receiver
    pauses: list[float] = []
    monkeypatch.setattr("headrace.connectors.webhook.sink.time.sleep", pauses.append)
    app.answers += [(429, {"Retry-After": "120"})]
    publish(connect.webhook(url), ([], b"{}"))
    assert 110 < max(pauses) <= 120


@pytest.mark.parametrize("status", [301, 400, 401, 404, 501])
def test_other_statuses_fail_the_run(receiver: tuple[Receiver, str], status: int) -> None:
    app, url = receiver
    app.answers += [(status, {})]
    with pytest.raises(DeliveryError, match=rf"^out: the webhook at {url} answers {status} .*no such rule"):
        publish(connect.webhook(f"{url}/secret"), ([], b"{}"))
    assert app.attempts == 1


def test_errors_name_the_server_and_hide_the_path() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(
        DeliveryError, match=rf"^out: the webhook at {url} does not answer: .*refused"
    ) as error:
        publish(connect.webhook(f"{url}/secret", retry_timeout="0 seconds"), ([], b"{}"))
    assert "secret" not in str(error.value)


@pytest.mark.proof
def test_killed_runs_and_servers_lose_nothing(spark: SparkSession) -> None:
    """The receiver removes duplicates by their keys."""
    with ExitStack() as servers:
        apps: list[Receiver] = []

        def target(_: str) -> delivery.Target:
            app = Receiver()
            url = servers.enter_context(serving(app))
            apps.append(app)
            sink = connect.webhook(url, batch=3)
            return delivery.Target(sink, lambda: {row["id"] for row in app.rows()})

        def fail_for_a_while(_: delivery.Target) -> None:
            apps[-1].answers += [(503, {})] * 2

        report = delivery.check_sink(
            spark, target, disturbances={"the server is overloaded": fail_for_a_while}
        )
    assert report.lost == 0, str(report)


def test_server_that_starts_later_receives_the_epoch() -> None:
    app, port = Receiver(), free_ports(1)[0]
    sink = connect.webhook(f"http://127.0.0.1:{port}")
    sender = threading.Thread(target=publish, args=(sink, ([], b'{"id": 1}')))
    sender.start()
    with serving(app, port):
        sender.join()
    assert app.rows() == [{"id": 1}]
