"""The guard: checks host, origin, size, credentials and role of every request before it reaches a handler."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.jobs.security.policy import LOOPBACK_NAMES, Policy
from headrace.jobs.security.principals import Principal, PrincipalStore, Role
from headrace.jobs.service import JobService
from headrace.jobs.states import UnknownJobError
from headrace.jobs.submission import MAX_TOTAL_BYTES

COOKIE = "headrace_session"
RECHECK_SECONDS = 5.0
"""The time after which an open stream of a revoked token or an ended session is closed."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_OPEN = re.compile(r"/api/v1/(health|login)|/login|/static/.*|/favicon\.ico")
"""Paths that need no credentials."""
_UPLOAD = re.compile(r"/api/v1/jobs(/[0-9a-f]{12}/upgrade)?")
_JOB = re.compile(r"/api/v1/jobs/([0-9a-f]{12})(/.*)?")
_SMALL_BYTES = 2 << 20
_TOO_LARGE = "the request is too large"
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}
"""The headers of responses. Styles may be inline: React Flow and CodeMirror position elements by them."""


class Guard:
    """ASGI middleware. Handlers find the sender in `request.state.principal`."""

    def __init__(self, app: ASGIApp, service: JobService, policy: Policy) -> None:
        self._app = app
        self._service = service
        self._policy = policy
        self._principals = PrincipalStore(service.database)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Response(send, lambda: self._is_valid(scope))
        reads_store = scope["method"] not in _SAFE or _has_credentials(scope)
        principal, problem = (
            await asyncio.to_thread(self._check, scope) if reads_store else self._check(scope)
        )
        scope.setdefault("state", {})["principal"] = principal
        if problem is not None:
            await answer.reject(*problem, as_page=_wants_page(scope))
        else:
            await self._pass_on(scope, receive, answer)
        if scope["method"] not in _SAFE:
            await asyncio.to_thread(self._record, scope, principal, answer.status)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _Response) -> None:
        body = _LimitedBody(receive, body_limit(scope["path"]))
        try:
            await self._app(scope, body.receive, answer.send)
        except ClientDisconnect:
            if body.is_too_large and not answer.status:
                await answer.reject(413, _TOO_LARGE)

    async def _is_valid(self, scope: Scope) -> bool:
        """True if the credentials of a request have not been revoked since it began."""
        if not _has_credentials(scope):
            return True
        return await asyncio.to_thread(self._identify, Headers(scope=scope)) is not None

    def _check(self, scope: Scope) -> tuple[Principal | None, tuple[int, str] | None]:
        headers = Headers(scope=scope)
        principal = self._identify(headers)
        problem = (
            self._check_host(headers)
            or self._check_origin(scope, headers, principal)
            or _check_length(scope, headers)
            or self._check_rights(scope, principal)
        )
        return principal, problem

    def _identify(self, headers: Headers) -> Principal | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._find(token.strip())
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        if cookie is not None and (holder := self._find(cookie)) is not None:
            return Principal(holder.name, holder.role, by_cookie=True)
        return None if self._policy.requires_login else Principal("", Role.ADMIN)

    def _find(self, token: str) -> Principal | None:
        if self._policy.token and hmac.compare_digest(token.encode(), self._policy.token.encode()):
            return Principal("admin", Role.ADMIN)
        return self._principals.find_token(token)

    def _check_host(self, headers: Headers) -> tuple[int, str] | None:
        """On loopback, reject other host names: a page of another site may have resolved to this machine."""
        name = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if self._policy.is_loopback and name.strip("[]") not in LOOPBACK_NAMES:
            return 421, "unknown host name"
        return None

    def _check_origin(
        self, scope: Scope, headers: Headers, principal: Principal | None
    ) -> tuple[int, str] | None:
        """Reject a change that a page of another site requests."""
        if scope["method"] in _SAFE:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        own = f"{'https' if self._policy.tls else scope['scheme']}://{headers.get('host', '')}"
        foreign = (origin is not None and origin != own) or site in ("cross-site", "same-site")
        unknown = origin is None and site is None and principal is not None and principal.by_cookie
        return (403, "the request comes from another site") if foreign or unknown else None

    def _check_rights(self, scope: Scope, principal: Principal | None) -> tuple[int, str] | None:
        if _OPEN.fullmatch(scope["path"]):
            return None
        if principal is None:
            return 401, "log in, or send a token"
        if scope["method"] in _SAFE or scope["path"] == "/api/v1/logout":
            return None
        owner = self._owner(scope["path"], principal)
        return None if principal.may_change(owner) else (403, f"the role {principal.role} does not allow it")

    def _owner(self, path: str, principal: Principal) -> str | None:
        """Return the owner of the job that a request changes or clones; a clone has its passwords."""
        job = _JOB.fullmatch(path)
        if job is None:
            return None
        try:
            return self._service.get(job[1]).owner
        except UnknownJobError:
            return principal.name

    def _record(self, scope: Scope, principal: Principal | None, status: int) -> None:
        job = _JOB.fullmatch(scope["path"])
        actor = (principal.name or "local") if principal is not None else "unknown"
        values = (time.time(), actor, f"{scope['method']} {scope['path'][:200]}", job and job[1], str(status))
        statement = "INSERT INTO audit (at, actor, action, job, outcome) VALUES (?, ?, ?, ?, ?)"
        self._service.database.execute(statement, values)


class _Response:
    """Adds headers to the response and records its status; ends a stream whose sender is locked out."""

    def __init__(self, send: Send, is_valid: Callable[[], Awaitable[bool]]) -> None:
        self._send = send
        self._is_valid = is_valid
        self._next_check = time.monotonic() + RECHECK_SECONDS
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            headers = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
            added = [header for header in headers if header[0] not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        elif message.get("more_body") and time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + RECHECK_SECONDS
            if not await self._is_valid():
                await self._send({"type": "http.response.body", "body": b""})
                raise ClientDisconnect
        await self._send(message)

    async def reject(self, status: int, detail: str, *, as_page: bool = False) -> None:
        """Answer in place of a handler; a browser without a login is sent to the login page."""
        headers = [(b"content-type", b"application/json")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
            if as_page:
                status, headers = 303, [(b"location", b"/login")]
        body = json.dumps({"detail": detail, "problems": []}).encode()
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": b"" if status == 303 else body})


class _LimitedBody:
    """The body of a request; a body without a declared length is cut off at the limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._bytes = 0

    @property
    def is_too_large(self) -> bool:
        return self._bytes > self._limit

    async def receive(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.is_too_large else message


def _check_length(scope: Scope, headers: Headers) -> tuple[int, str] | None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > body_limit(scope["path"]):
        return 413, _TOO_LARGE
    return None


def body_limit(path: str) -> int:
    """Return the maximum size of a request body; only submissions and upgrades upload files.

    >>> body_limit("/api/v1/jobs/3f2a9c01b7de/upgrade") > body_limit("/api/v1/jobs/3f2a9c01b7de/stop")
    True
    """
    return MAX_TOTAL_BYTES + _SMALL_BYTES if _UPLOAD.fullmatch(path) else _SMALL_BYTES


def _has_credentials(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "authorization" in headers or "cookie" in headers


def _wants_page(scope: Scope) -> bool:
    accepts = Headers(scope=scope).get("accept", "")
    return scope["method"] == "GET" and "text/html" in accepts and not scope["path"].startswith("/api/")
