"""The live feed: the last tick of every job, pushed to open pages."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

QUEUE = 4
"""The maximum number of ticks queued for a client; a slow client skips the oldest."""
SUMMARY = (
    "id",
    "name",
    "owner",
    "state",
    "attempts",
    "restarts",
    "error",
    "created",
    "changed",
    "at",
    "metrics",
    "alerts",
)
"""The keys of a job in the feed of all jobs."""


class LiveFeed:
    """Distributes ticks; each is serialised once for all clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, dict[str, Any]] = {}
        self._clients: dict[str | None, set[_Client]] = {}

    def publish(self, snapshots: Sequence[dict[str, Any]]) -> None:
        """Distribute the documents of one tick."""
        with self._lock:
            self._last = {snapshot["id"]: snapshot for snapshot in snapshots}
            clients = {job: tuple(each) for job, each in self._clients.items()}
        for job, listeners in clients.items():
            if (data := self._data(job)) is not None:
                message = _message("tick", data)
                for client in listeners:
                    client.push(message)

    def remove(self, job: str) -> None:
        """Remove a deleted job."""
        with self._lock:
            self._last.pop(job, None)

    async def stream(self, job: str | None = None) -> AsyncIterator[bytes]:
        """Yield server-sent events: of one job, or summaries of all."""
        client = _Client(asyncio.get_running_loop())
        with self._lock:
            self._clients.setdefault(job, set()).add(client)
        try:
            yield b"retry: 1000\n\n"
            if (data := self._data(job)) is not None:
                yield _message("tick", data)
            while True:
                yield await client.queue.get()
        finally:
            with self._lock:
                self._clients[job].discard(client)
                if not self._clients[job]:
                    del self._clients[job]

    def _data(self, job: str | None) -> Any:
        with self._lock:
            if job is not None:
                return self._last.get(job)
            return [summarize(snapshot) for snapshot in self._last.values()]


class _Client:
    """The queue of one open page."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUE)

    def push(self, message: bytes) -> None:
        """Add a message from another thread; a slow client skips the oldest one."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._push, message)

    def _push(self, message: bytes) -> None:
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(message)


def summarize(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a snapshot that the list of jobs has."""
    return {key: snapshot.get(key) for key in SUMMARY}


def _message(event: str, data: Any) -> bytes:
    return f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'), default=str)}\n\n".encode()
