"""Servers of connectors: a web application in a thread of the run."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import uvicorn

from headrace.connectors.network.addresses import parse_listen

_START_SECONDS = 60.0
_STOP_SECONDS = 5
_MAX_CONNECTIONS = 1000


class WebServer:
    """An ASGI application, served by a thread between `start` and `stop`."""

    def __init__(self, app: Any, listen: str) -> None:
        self._host, self._port = parse_listen(listen)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen, and wait until requests are accepted.

        Raises:
            OSError: the address can't be used.
        """
        listening = self._bind()
        self._thread = threading.Thread(
            target=self._serve, args=(listening,), name="headrace-server", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise OSError("the server did not start")
            time.sleep(0.01)

    def stop(self) -> None:
        """Answer the requests under way, and end the thread."""
        if self._thread is not None:
            self._server.should_exit = True
            self._thread.join()

    def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = socket.create_server((self._host, self._port), family=family, backlog=_MAX_CONNECTIONS)
        # asyncio does not set it on such connections; answers would wait 40 ms for the client's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    def _serve(self, listening: socket.socket) -> None:
        with listening:
            self._server.run(sockets=[listening])
