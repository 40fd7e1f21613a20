"""Sends rows to the clients of a server: WebSockets, or server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket as Connection
from starlette.websockets import WebSocketDisconnect

from headrace.connectors.base import WriteContext
from headrace.connectors.network.web_server import WebServer, is_authorized
from headrace.connectors.row_encoding import Fields, encode_columns
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.websocket import WebSocket

_REFUSED = 1008
"""The close code of a violated policy."""


class _Client:
    """The messages that wait for one client, None at the end; used in the thread of the server only."""

    def __init__(self, waiting: Iterable[str | bytes], limit: int) -> None:
        self._waiting: deque[str | bytes | None] = deque(waiting, maxlen=limit)
        self._arrived = asyncio.Event()
        self._arrived.set()

    def put(self, messages: Iterable[str | bytes | None]) -> None:
        """Add messages; a full queue drops its oldest ones."""
        self._waiting.extend(messages)
        self._arrived.set()

    async def take(self) -> list[str | bytes | None]:
        """Wait for messages and return all that are waiting."""
        await self._arrived.wait()
        self._arrived.clear()
        messages = list(self._waiting)
        self._waiting.clear()
        return messages


class Broadcaster:
    """Serves the endpoint of a sink, and sends every row to all clients."""

    def __init__(self, options: WebSocket, context: WriteContext) -> None:
        self._options, self._sink = options, context.sink
        self._clients: set[_Client] = set()
        self._latest: deque[str | bytes] = deque(maxlen=options.backlog)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: WebServer | None = None

    @property
    def clients(self) -> int:
        """The number of connected clients."""
        return len(self._clients)

    def expressions(self, fields: Fields) -> list[str]:
        return [encode_columns(self._options, fields, self._sink)]

    def open(self) -> None:
        path = self._options.path
        app = Starlette(routes=[WebSocketRoute(path, self._serve_socket), Route(path, self._serve_events)])
        self._server = WebServer(app, self._options.listen or "")
        self._server.start(DeliveryError, self._sink)

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        sent = [message for (message,) in messages if message is not None]
        self._latest.extend(sent)
        if self._loop is not None and sent:
            self._loop.call_soon_threadsafe(self._broadcast, sent)

    def close(self) -> None:
        if self._loop is not None and self._clients:
            with suppress(RuntimeError):  # the loop may have ended
                self._loop.call_soon_threadsafe(self._broadcast, [None])
        if self._server is not None:
            self._server.stop()
        self._server = self._loop = None

    def _broadcast(self, messages: list[Any]) -> None:
        for client in self._clients:
            client.put(messages)

    async def _messages(self) -> AsyncIterator[str | bytes]:
        """Yield the messages for a new client, until the sink is closed."""
        self._loop = asyncio.get_running_loop()
        client = _Client(list(self._latest), self._options.client_queue)
        self._clients.add(client)
        try:
            while True:
                for message in await client.take():
                    if message is None:
                        return
                    yield message
        finally:
            self._clients.discard(client)

    async def _serve_socket(self, connection: Connection) -> None:
        if not self._is_authorized(connection):
            await connection.close(_REFUSED)
            return
        await connection.accept()
        sending = asyncio.create_task(self._send(connection))
        with suppress(WebSocketDisconnect, RuntimeError):
            while not sending.done():
                receiving = asyncio.create_task(connection.receive())
                await asyncio.wait([sending, receiving], return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done():
                    receiving.cancel()
                elif receiving.result()["type"] == "websocket.disconnect":
                    break
        sending.cancel()
        with suppress(Exception, asyncio.CancelledError):
            await sending
            await connection.close()

    async def _send(self, connection: Connection) -> None:
        async for message in self._messages():
            if isinstance(message, bytes):
                await connection.send_bytes(message)
            else:
                await connection.send_text(message)

    async def _serve_events(self, request: Request) -> Response:
        if "text/event-stream" not in request.headers.get("accept", ""):
            reason = "connect with a WebSocket, or request text/event-stream"
            return JSONResponse({"error": reason}, 406)
        if not self._is_authorized(request):
            return JSONResponse({"error": "the token is missing or wrong"}, 401)
        return StreamingResponse(
            _as_events(self._messages()),
            media_type="text/event-stream",
            # Pages that use `EventSource` are of another origin: the sink serves none itself.
            headers={"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"},
        )

    def _is_authorized(self, connection: HTTPConnection) -> bool:
        return is_authorized(connection, self._options.token, in_query=True)


async def _as_events(messages: AsyncIterator[str | bytes]) -> AsyncIterator[str]:
    """Yield server-sent events; a comment first, so that the client sees that it is connected."""
    yield ": connected\n\n"
    async for message in messages:
        text = message.decode(errors="replace") if isinstance(message, bytes) else message
        yield "".join(f"data: {line}\n" for line in text.split("\n")) + "\n"
