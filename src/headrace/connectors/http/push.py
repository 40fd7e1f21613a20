"""An endpoint that stores the rows of requests in the write-ahead log and answers once they are durable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from headrace.connectors.base import ReadContext
from headrace.connectors.http.bodies import BodyError, body_encoding, split_body
from headrace.connectors.network.web_server import WebServer, is_authorized
from headrace.connectors.options import bytes_of, seconds_of
from headrace.connectors.write_ahead_log import LogClosedError, Message, MessageTooLargeError
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.http import Http
    from headrace.connectors.write_ahead_log.log import WriteAheadLog


class PushReceiver:
    """Serves the endpoint of a source in a thread."""

    def __init__(self, options: Http, context: ReadContext) -> None:
        self._options, self._source = options, context.source
        self._encoding = body_encoding(context.format)
        self._log: WriteAheadLog | None = None
        self._server: WebServer | None = None
        self._bucket = TokenBucket(options.rate_limit)

    def start(self, log: WriteAheadLog) -> None:
        self._log = log
        app = Starlette(routes=[Route(self._options.path, self._accept, methods=["POST"])])
        server = WebServer(app, self._options.listen or "")
        server.start(SourceError, self._source)
        self._server = server

    def settle(self) -> None:
        """Do nothing: clients may send at any time."""

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    async def _accept(self, request: Request) -> JSONResponse:
        """Answer a request once its rows are durable."""
        if not is_authorized(request, self._options.token):
            return _error_response(401, "the token is missing or wrong", **{"WWW-Authenticate": "Bearer"})
        if (wait := self._bucket.take()) > 0:
            return _error_response(429, "too many requests", **{"Retry-After": str(int(wait) + 1)})
        try:
            body = await asyncio.wait_for(self._read(request), seconds_of(self._options.body_timeout))
            records = split_body(body, request.headers.get("content-type", ""), self._encoding)
        except _BodyTooLargeError:
            return _error_response(413, f"the body is larger than {self._options.max_body}")
        except TimeoutError:
            return _error_response(408, "the body did not arrive in time")
        except (BodyError, ClientDisconnect) as error:
            return _error_response(400, str(error) or "the connection was closed")
        return await self._store(request, records)

    async def _store(self, request: Request, records: list[bytes]) -> JSONResponse:
        assert self._log is not None
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        messages = self._messages(request, records)
        try:
            # In a thread: a full log may have to remove files before it has room.
            stored = await asyncio.to_thread(self._log.submit, messages, _completion(durable), timeout=0)
        except MessageTooLargeError:
            return _error_response(413, "the rows are larger than half of log_limit")
        except LogClosedError:
            return _error_response(503, "the pipeline is stopping", **{"Retry-After": "1"})
        if not stored:
            return _error_response(429, "the write-ahead log is full", **{"Retry-After": "1"})
        while not (await asyncio.wait([durable], timeout=1))[0]:
            if self._log.failed:
                return _error_response(503, "the rows could not be stored")
        return JSONResponse({"rows": len(records)}, 202)

    def _messages(self, request: Request, records: list[bytes]) -> list[Message]:
        wanted, metadata = self._options.selected_metadata, dict[str, Any]()
        if "client" in wanted:
            metadata["client"] = request.client.host if request.client else None
        if "headers" in wanted:
            metadata["headers"] = {k: v for k, v in request.headers.items() if k != "authorization"}
        key = request.headers.get("idempotency-key")
        return [
            Message(record, metadata, None if key is None else f"{key}:{number}")
            for number, record in enumerate(records)
        ]

    async def _read(self, request: Request) -> bytes:
        """Return the body; raise an error as soon as it exceeds the limit."""
        limit, parts, size = bytes_of(self._options.max_body), list[bytes](), 0
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise _BodyTooLargeError
        stream: AsyncIterator[bytes] = request.stream()
        async for part in stream:
            size += len(part)
            if size > limit:
                raise _BodyTooLargeError
            parts.append(part)
        return b"".join(parts)


class TokenBucket:
    """A token bucket: `rate` requests per second, with bursts of up to `rate` requests."""

    def __init__(self, rate: int | None) -> None:
        self._rate, self._tokens, self._at = rate, float(rate or 0), time.monotonic()

    def take(self) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        if self._rate is None:
            return 0.0
        now = time.monotonic()
        self._tokens = min(self._tokens + (now - self._at) * self._rate, float(self._rate))
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._rate
        self._tokens -= 1
        return 0.0


class _BodyTooLargeError(Exception):
    pass


def _completion(durable: asyncio.Future[None]) -> Callable[[], None]:
    """Return a function for another thread that completes a future, if the client still waits for it."""
    loop = durable.get_loop()

    def complete() -> None:
        with suppress(asyncio.InvalidStateError):
            durable.set_result(None)

    def complete_in_loop() -> None:
        loop.call_soon_threadsafe(complete)

    return complete_in_loop


def _error_response(status: int, reason: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status, headers)
