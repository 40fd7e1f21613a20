"""A web server in a thread of the run, and the check of its requests' tokens."""

from __future__ import annotations

import socket
import threading
import time
from hmac import compare_digest
from typing import Any

import uvicorn
from pydantic import SecretStr
from starlette.requests import HTTPConnection

from headrace.connectors.network.addresses import parse_listen
from headrace.errors import HeadraceError

_START_SECONDS = 60.0
_STOP_SECONDS = 5
_MAX_CONNECTIONS = 1000


def is_authorized(connection: HTTPConnection, token: SecretStr | None, *, in_query: bool = False) -> bool:
    """Return True if a request has the token of an endpoint, in the header `Authorization: Bearer ...`.

    With `in_query` the parameter `?token=...` is accepted as well: pages cannot set headers of WebSockets.
    """
    if token is None:
        return True
    scheme, _, sent = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        sent = connection.query_params.get("token", "") if in_query else ""
    return compare_digest(sent.encode(), token.get_secret_value().encode())


class WebServer:
    """An ASGI application, served by a thread between `start` and `stop`."""

    def __init__(self, app: Any, listen: str) -> None:
        self._listen = listen
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

    def start(self, error: type[HeadraceError], where: str) -> None:
        """Listen, and wait until requests are accepted; raise the error if the address cannot be used."""
        try:
            self._start()
        except OSError as failure:
            what = f"cannot listen on {self._listen}: {failure.strerror or failure}"
            hint = "choose another port, or end the process that uses it"
            raise error(what, where=where, hint=hint) from failure

    def _start(self) -> None:
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
        # asyncio does not set it on such connections; responses would wait 40 ms for the client's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    def _serve(self, listening: socket.socket) -> None:
        with listening:
            self._server.run(sockets=[listening])
