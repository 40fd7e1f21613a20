"""Server-sent events: each message is made and serialised once for all streams of its topic."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

INTERVAL = 1.0
"""Seconds between two messages."""
MAX_STREAMS = 100
"""Open streams of one user; a page has one."""
_QUEUE = 4
"""Messages that a slow client may be behind; the oldest is dropped."""
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_GONE = b"event: gone\ndata: {}\n\n"

Message = Callable[[str], Any]

_log = logging.getLogger("headrace.jobs")


class StreamLimit:
    """A limit on the open streams of each user."""

    def __init__(self, most: int = MAX_STREAMS) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def hold(self, holder: str) -> Iterator[bool]:
        """Count a stream inside the block; yields False if the user has too many."""
        if self._open[holder] >= self._most:
            yield False
            return
        self._open[holder] += 1
        try:
            yield True
        finally:
            self._open[holder] -= 1
            if not self._open[holder]:
                del self._open[holder]


class EventStream(StreamingResponse):
    """Server-sent events; 429 if their reader has too many streams open."""

    def __init__(self, content: AsyncIterator[bytes], limit: StreamLimit, holder: str) -> None:
        super().__init__(content, media_type="text/event-stream", headers=_HEADERS)
        self._limit = limit
        self._holder = holder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the reader leaves."""
        with self._limit.hold(self._holder) as admitted:
            if admitted:
                await super().__call__(scope, receive, send)
                return
        detail = {"detail": "too many open event streams of this user", "problems": []}
        await JSONResponse(detail, status_code=429)(scope, receive, send)


class Hub:
    """Open streams by topic. A task makes the messages while at least one stream is open."""

    def __init__(
        self, message: Message, interval: float = INTERVAL, limit: StreamLimit | None = None
    ) -> None:
        """Make messages with `message(topic)`, on a worker thread; None ends the streams of a topic."""
        self._limit = limit or StreamLimit()
        self._message = message
        self._interval = interval
        self._streams: dict[str, set[asyncio.Queue[bytes | None]]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    def response(self, topic: str, holder: str) -> EventStream:
        """Return the response that streams a topic to a user."""
        return EventStream(self.stream(topic), self._limit, holder)

    async def stream(self, topic: str) -> AsyncIterator[bytes]:
        """Yield the messages of a topic as events `tick`, the first at once; `gone` is the last one."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=_QUEUE)
        first = await self._encode(topic)
        yield b"retry: 1000\n\n"
        if first is None:
            yield _GONE
            return
        yield first
        self._streams[topic].add(queue)
        self._ensure_running()
        try:
            while (block := await queue.get()) is not None:
                yield block
            yield _GONE
        finally:
            self._streams[topic].discard(queue)
            if not self._streams[topic]:
                del self._streams[topic]

    def _ensure_running(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        while self._streams:
            await asyncio.sleep(self._interval)
            for topic in list(self._streams):
                try:
                    block = await self._encode(topic)
                except Exception:  # such as a restart of the database; the next message may succeed
                    _log.exception("no message of %s", topic)
                    continue
                for queue in list(self._streams.get(topic, ())):
                    if queue.full():
                        queue.get_nowait()
                    queue.put_nowait(block)

    async def _encode(self, topic: str) -> bytes | None:
        message = await run_in_threadpool(self._message, topic)
        if message is None:
            return None
        return f"event: tick\ndata: {json.dumps(message, separators=(',', ':'), default=str)}\n\n".encode()
