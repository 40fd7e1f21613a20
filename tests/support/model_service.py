"""A real HTTP service with a model, which is slow, down or wrong if a test wants it to be."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""A status and a body: bytes, or a value that is sent as JSON."""


def double(rows: list[dict[str, Any]]) -> Answer:
    return 200, {"predictions": [2 * row["amount"] for row in rows]}


@dataclass
class Server:
    """Answers requests one after the other with a behaviour, the last one forever."""

    behaviours: list[Callable[[list[dict[str, Any]]], Answer]]
    url: str = ""
    requests: list[list[dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    running: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, rows: list[dict[str, Any]], headers: dict[str, str]) -> Answer:
        with self.lock:
            self.requests.append(rows)
            self.headers.append(headers)
            self.running += 1
            self.most = max(self.most, self.running)
            behave = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        try:
            return behave(rows)
        finally:
            with self.lock:
                self.running -= 1

    def hang(self, rows: list[dict[str, Any]]) -> Answer:
        """Answer when the test is over."""
        self.released.wait(60)
        return double(rows)


@contextmanager
def serve(*behaviours: Callable[[list[dict[str, Any]]], Answer]) -> Iterator[Server]:
    state = Server(list(behaviours) or [double])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            status, body = state.answer(json.loads(content)["instances"], dict(self.headers))
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the client has not waited
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/risk"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
