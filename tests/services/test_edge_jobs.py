"""A job that is killed with all its receivers, queries and sinks, or whose Redis is killed, copies every message.

`python -m tests.services.test_edge_kills --kills 50 --only job_is_killed` kills the job that often, and
`--only redis_is_killed` the server.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pika
import pytest

from headrace.devtools import mosquitto
from headrace.devtools.ports import free_ports
from tests.services import edge_job
from tests.services.test_edge_kills import KILLS, Queue, publishing, rabbit, receiver
from tests.support.http_server import serving
from tests.support.receiving import stored
from tests.support.redis_server import running_redis
from tests.support.waiting import wait_until

pytestmark = pytest.mark.proof


@contextmanager
def stopping(broker: mosquitto.Broker) -> Iterator[None]:
    """Stop the broker at the end of the block."""
    try:
        yield
    finally:
        broker.stop()


def test_job_is_killed_and_every_connector_copies_every_message(tmp_path: Path) -> None:
    """Receivers, queries and sinks die together; Redis, which is exactly-once, doubles nothing either."""
    broker = mosquitto.start(tmp_path / "broker", port=0)
    copies: dict[str, list[int]] = {}

    async def accept(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            key = dict(scope["headers"])[b"idempotency-key"].decode()
            copies[key] = [row["id"] for row in json.loads((await receive())["body"])]
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    listen, source = f"127.0.0.1:{free_ports(1)[0]}", tmp_path / "copies"
    with stopping(broker), rabbit() as (node, _), running_redis() as redis, serving(accept) as webhook:
        places = {"mqtt": broker.url, "rabbitmq": node.url, "redis": redis.url, "http": listen}
        channel = node.channel()
        for queue in ("kills", "copies"):
            channel.queue_declare(queue, durable=True)
        with publishing(broker, 1) as publish, redis.client() as client:

            def post(number: int) -> bool:
                with suppress(httpx.TransportError):
                    return httpx.post(f"http://{listen}/", json={"id": number}).status_code == 202
                return False

            def push(number: int) -> bool:
                properties = pika.BasicProperties(delivery_mode=2, message_id=str(number))
                channel.basic_publish("", "kills", json.dumps({"id": number}), properties)
                return True

            senders: dict[str, Callable[[int], bool]] = {
                "mqtt": publish,
                "rabbitmq": push,
                "redis": lambda number: bool(client.xadd("kills", {"id": number})),
                "http": post,
            }
            held: dict[str, Callable[[], list[int]]] = {
                "mqtt": lambda: stored(source),
                "rabbitmq": Queue(channel, "copies").numbers,
                "redis": lambda: [int(fields["id"]) for _, fields in client.xrange("copies")],
                "http": lambda: [number for rows in copies.values() for number in rows],
            }
            session = {"url": broker.url, "topics": ["kills"], "client_id": "headrace-edge-mqtt"}
            with receiver("mqtt", session, tmp_path / "session"):
                pass  # the session of the job begins
            with receiver("mqtt", {"url": broker.url, "topics": ["copies"]}, source):
                sent = _kill_jobs({**places, "webhook": webhook}, tmp_path, senders, held)
            copied = {name: sorted(numbers()) for name, numbers in held.items()}
        channel.connection.close()
    assert not {name: lost for name in sent if (lost := sent[name] - set(copied[name]))}
    assert copied["redis"] == sorted(sent["redis"])


def test_redis_is_killed_and_the_job_copies_every_entry_once(tmp_path: Path) -> None:
    """The server confirms what is on disk, so it loses no entry; source and sink reconnect."""
    sent, chance = itertools.count(), random.Random(7)
    with running_redis() as redis, _job({"redis": redis.url}, tmp_path) as process:

        def copies() -> list[int]:
            assert process.poll() is None, (tmp_path / "output.txt").read_text()[-4000:]
            with redis.client() as client:
                return sorted(int(fields["id"]) for _, fields in client.xrange("copies"))

        def send(seconds: float) -> int:
            """Add entries for a while; return the number of the last one."""
            end = time.monotonic() + seconds
            with redis.client() as client:
                while True:
                    client.xadd("kills", {"id": (number := next(sent))})
                    if time.monotonic() > end:
                        return number

        first = send(0)
        wait_until(lambda: first in copies())  # the job runs
        for _ in range(KILLS):
            send(chance.uniform(0, 1))
            redis.restart()
        last = send(0)
        wait_until(lambda: last in copies())
        assert copies() == list(range(last + 1))


def _kill_jobs(
    places: dict[str, str],
    work: Path,
    senders: dict[str, Callable[[int], bool]],
    held: dict[str, Callable[[], list[int]]],
) -> dict[str, set[int]]:
    """Send numbers while jobs are killed; return the acknowledged ones once a job has copied all of them."""
    sent: dict[str, set[int]] = {name: set() for name in senders}
    numbers, chance = itertools.count(), random.Random(7)

    def send(process: subprocess.Popen[bytes]) -> None:
        assert process.poll() is None, (work / "output.txt").read_text()[-4000:]
        number = next(numbers)
        for name, action in senders.items():
            sent[name] |= {number} if action(number) else set()

    def epochs() -> int:
        return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))

    for _ in range(KILLS):
        before = epochs()
        with _job(places, work) as process:
            while epochs() < before + 2:
                send(process)
            end = time.monotonic() + chance.uniform(0, 2)
            while time.monotonic() < end:
                send(process)
    with _job(places, work) as process:
        while not sent["http"] & set(held["http"]()):
            send(process)
        wait_until(lambda: all(sent[name] <= set(held[name]()) for name in sent))
    return sent


@contextmanager
def _job(places: dict[str, str], work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the job inside the block; it is killed at the end."""
    words = [sys.executable, edge_job.__file__, json.dumps(places), str(work)]
    with (work / "output.txt").open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
