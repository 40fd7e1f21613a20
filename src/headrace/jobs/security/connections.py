"""Time limits of requests and a limit on connections, which uvicorn does not have."""

from __future__ import annotations

import asyncio
import logging
import math
import resource
import time
from functools import partial
from typing import Any

import h11
from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""The time in which the headers of a request must arrive; also that of the TLS handshake."""
BODY_SECONDS = 20.0
"""The time that a body may take beyond that of the slowest accepted sender."""
BODY_BYTES_PER_SECOND = 8192
SEND_SECONDS = 60.0
"""The time in which a client must accept more of a response."""
MAX_CONNECTIONS = 500
LOG_SECONDS = 60.0
"""The time between two messages about connections that cannot be accepted."""

_log = logging.getLogger("headrace.jobs")


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that closes connections of clients that send or read too slowly.

    If there are too many connections, a new one replaces an idle one or the slowest sender.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: tuple[Any, Any] | None = None
        """What the client is to send: the headers or the body of which request."""
        self._since = 0.0
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > max_connections():
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Continue the time limit of a request that is not complete."""
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all time limits."""
        super().connection_lost(exc)
        for timer in (self._timer, self._send_timer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        """Limit the time in which the client reads nothing."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """End this time."""
        super().resume_writing()
        if self._send_timer is not None:
            self._send_timer.cancel()

    @property
    def deadline(self) -> float:
        """The time at which the connection is closed unless more arrives; infinite during a response."""
        if self.conn.their_state is h11.IDLE:
            return self._since + HEADER_SECONDS
        if self.conn.their_state is h11.SEND_BODY:
            return self._since + BODY_SECONDS + self._received / BODY_BYTES_PER_SECOND
        return math.inf

    def _watch(self) -> None:
        """Start the time limit if the client has begun to send something else."""
        state = self.conn.their_state
        waiting = (state, self.cycle) if state in (h11.IDLE, h11.SEND_BODY) else None
        if waiting == self._waiting:
            return
        self._waiting, self._since, self._received = waiting, time.monotonic(), 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if waiting is not None:
            self._schedule()

    def _schedule(self) -> None:
        self._timer = self.loop.call_later(max(0.0, self.deadline - time.monotonic()), self._expire)

    def _expire(self) -> None:
        """Close the connection, unless more has arrived meanwhile or the service itself reads slowly."""
        if self.flow.read_paused:
            self._since = time.monotonic()
        if time.monotonic() < self.deadline:
            self._schedule()
        else:
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection whose time is up first; idle ones and slow senders come before all others."""
        others = [each for each in self.connections if isinstance(each, TimedProtocol) and each is not self]
        first = min(others, key=lambda each: each.deadline)
        closed = self if first.deadline == math.inf else first
        self.connections.discard(closed)  # before it notices, so that the next one replaces another
        closed.transport.abort()


class TimedServer(Server):
    """A uvicorn server with a time limit of TLS handshakes that reports refused connections once a minute."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_AcceptErrors())
        if self.config.ssl is not None:  # uvicorn has no option for it
            create_server = partial(loop.create_server, ssl_handshake_timeout=HEADER_SECONDS)
            loop.create_server = create_server  # type: ignore[method-assign]
        await super().startup(sockets)


class _AcceptErrors:
    """An exception handler of the event loop, whose own logs a traceback for each refused connection."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not str(context.get("message", "")).startswith("socket.accept()"):
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + LOG_SECONDS
            _log.error("connections cannot be accepted: %s", context.get("exception"))


def max_connections() -> int:
    """Return the limit on connections: half of the files that the process may open, at most 500."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // 2)
