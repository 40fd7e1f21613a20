"""HTTP push: the endpoint of a source beside a plain FastAPI endpoint.

Clients post batches of 100 rows over 8 connections to a server process. The plain endpoint writes the rows
of a request to a file and answers after fdatasync.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.harness import Measured, compare
from headrace.devtools.ports import free_ports

BATCH = 100
CONNECTIONS = 8
WARM_UP = 1
HOST = "127.0.0.1"
PLAIN, HEADRACE = "FastAPI by hand", "Headrace"
_START_SECONDS = 60.0


def measure_http(directory: Path, rows: int, runs: int) -> list[Measured]:
    """Post batches to a plain endpoint and to a source."""
    with serving("plain", directory) as plain, serving("headrace", directory) as headrace:
        contenders = {PLAIN: lambda: post(plain, rows), HEADRACE: lambda: post(headrace, rows)}
        return compare("HTTP push in batches of 100", contenders, rows=rows, runs=runs, warm_up=WARM_UP)


def post(port: int, rows: int) -> None:
    """Post rows over several connections."""
    requests = rows // BATCH // CONNECTIONS
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for sent in [pool.submit(_post_requests, port, requests) for _ in range(CONNECTIONS)]:
            sent.result()


def _post_requests(port: int, requests: int) -> None:
    body = json.dumps([{"id": number, "celsius": 21.5} for number in range(BATCH)]).encode()
    head = f"POST /events HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((HOST, port), timeout=60) as connection:
        for _ in range(requests):
            connection.sendall(head.encode() + body)
            answer = connection.recv(4096)
            while b"}" not in answer:
                answer += connection.recv(4096)
            assert b" 202 " in answer, answer


@contextmanager
def serving(kind: str, directory: Path) -> Iterator[int]:
    """Run a server process inside the block; yields its port."""
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "benchmarks.edge.http_server", kind, str(port), str(directory / kind)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        _await_server(port)
        yield port
    finally:
        process.kill()
        process.communicate()


def _await_server(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no server at port {port}")
