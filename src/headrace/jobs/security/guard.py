"""The guard: checks host, origin, size, credentials and role of every request before it reaches a handler."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.jobs.security.policy import LOOPBACK_NAMES, Policy
from headrace.jobs.security.principals import LOCAL, Principal, PrincipalStore, Role
from headrace.jobs.security.throttle import Throttle, network_of
from headrace.jobs.service import JobService
from headrace.jobs.store.database import StoreError
from headrace.jobs.submission import MAX_TOTAL_BYTES

COOKIE = "headrace_session"
RECHECK_SECONDS = 5.0
"""The time after which an open stream of a revoked token or an ended session is closed."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_OPEN = re.compile(r"/api/v1/(health|login)|/login|/static/.*|/favicon\.ico")
"""Paths that need no credentials."""
_UPLOAD = re.compile(r"/api/v1/jobs(/[0-9a-f]{12}/upgrade)?")
_JOB = re.compile(r"/(?:jobs|events)/+([0-9a-f]{12})(?![0-9a-f])")
"""The job in a path, for the audit log only: handlers find and check it by their dependency."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|%[01][0-9a-f]|%7f", re.IGNORECASE)
"""Characters that patterns treat as the end of a line or of a text, also if encoded twice."""
_HSTS = (b"strict-transport-security", b"max-age=31536000")
_FREE_TOKENS = 20
_DELAY_SECONDS = 1.0
"""The delay of responses to an address that has sent too many wrong tokens."""
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


_log = logging.getLogger("headrace.jobs")


class Guard:
    """ASGI middleware. Handlers find the sender in `request.state.principal`, and check role and owner."""

    def __init__(self, app: ASGIApp, service: JobService, policy: Policy) -> None:
        self._app = app
        self._service = service
        self._policy = policy
        self._principals = PrincipalStore(service.database)
        self._wrong_tokens = Throttle(free=_FREE_TOKENS, longest=_DELAY_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Response(send, lambda: self._is_valid(scope), is_public_https=self._is_public_https)
        state = scope.setdefault("state", {})
        try:
            state["principal"], problem = (
                await asyncio.to_thread(self._check, scope) if _has_credentials(scope) else self._check(scope)
            )
        except StoreError as error:
            await answer.reject(error.status, str(error.problem.what))
            return
        if problem is None:
            await self._pass_on(scope, receive, answer)
        else:
            if problem[0] == 429:
                await asyncio.sleep(_DELAY_SECONDS)
            await answer.reject(*problem, as_page=_wants_page(scope))
        principal, status = state["principal"], answer.status if problem is None else problem[0]
        if principal is None and status >= 400:
            self._service.audit.count_refused(status)
        elif principal is not None and scope["method"] not in _SAFE:
            await asyncio.to_thread(self._record, scope, principal, status)

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

    @property
    def _is_public_https(self) -> bool:
        return (self._policy.public_url or "").startswith("https:")

    def _check(self, scope: Scope) -> tuple[Principal | None, tuple[int, str] | None]:
        headers = Headers(scope=scope)
        principal = self._identify(headers)
        problem = (
            _check_path(scope)
            or self._check_token(scope, headers, principal)
            or self._check_host(headers)
            or self._check_origin(scope, headers, principal)
            or _check_length(scope, headers)
            or _check_rights(scope, principal)
        )
        return principal, problem

    def _identify(self, headers: Headers) -> Principal | None:
        if (token := _bearer(headers)) is not None:
            if self._policy.token and hmac.compare_digest(token.encode(), self._policy.token.encode()):
                return Principal("admin", Role.ADMIN)
            return self._principals.find_token(token)
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        if cookie is not None and (holder := self._principals.find_token(cookie)) is not None:
            return Principal(holder.name, holder.role, by_cookie=True)
        return None if self._policy.requires_login else LOCAL

    def _check_token(
        self, scope: Scope, headers: Headers, principal: Principal | None
    ) -> tuple[int, str] | None:
        """Slow down an address that sends wrong tokens; its right ones are accepted."""
        if principal is not None or _bearer(headers) is None:
            return None
        client = scope.get("client")
        wait = self._wrong_tokens.admit(network_of(client[0] if client else ""))
        return (429, "too many wrong tokens") if wait else (401, "the token is not valid")

    def _check_host(self, headers: Headers) -> tuple[int, str] | None:
        """On loopback, reject other host names: a page of another site may have resolved to this machine."""
        host = headers.get("host", "")
        name = host.rpartition(":")[0] or host
        known = host == self._policy.public_host or name.strip("[]") in LOOPBACK_NAMES
        return (421, "unknown host name") if self._policy.is_loopback and not known else None

    def _check_origin(
        self, scope: Scope, headers: Headers, principal: Principal | None
    ) -> tuple[int, str] | None:
        """Reject a change that a page of another site requests."""
        if scope["method"] in _SAFE:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        own = f"{'https' if self._policy.tls else scope['scheme']}://{headers.get('host', '')}"
        is_own = origin in (None, own, self._policy.public_url)
        foreign = not is_own or site in ("cross-site", "same-site")
        unknown = origin is None and site is None and principal is not None and principal.by_cookie
        return (403, "the request comes from another site") if foreign or unknown else None

    def _record(self, scope: Scope, principal: Principal, status: int) -> None:
        """Add an entry to the audit log; a response that was sent stands even if the store fails."""
        path, job = scope["path"], scope["state"].get("job")
        if job is None and (match := _JOB.search(path)) is not None:
            job = match[1]
        try:
            action = f"{scope['method']} {path[:200]}"
            self._service.audit.record(principal.name or "local", action, job, str(status))
        except StoreError as error:
            _log.error("no audit entry of %s: %s", principal.name or "local", error.what)


class _Response:
    """Adds headers to the response and records its status; ends a stream whose sender is locked out."""

    def __init__(self, send: Send, is_valid: Callable[[], Awaitable[bool]], *, is_public_https: bool) -> None:
        self._send = send
        self._is_valid = is_valid
        self._added = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
        self._added += [_HSTS] if is_public_https else []
        self._next_check = time.monotonic() + RECHECK_SECONDS
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            added = [header for header in self._added if header[0] not in present]
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


def _bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _check_path(scope: Scope) -> tuple[int, str] | None:
    return (400, "the path has control characters") if _CONTROL.search(scope["path"]) else None


def _check_rights(scope: Scope, principal: Principal | None) -> tuple[int, str] | None:
    """Reject anonymous senders, and changes by viewers before their body is read; handlers check the rest."""
    if _OPEN.fullmatch(scope["path"]):
        return None
    if principal is None:
        return 401, "log in, or send a token"
    if principal.role is Role.VIEWER and scope["method"] not in _SAFE and scope["path"] != "/api/v1/logout":
        return 403, f"the role {principal.role} does not allow it"
    return None


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
