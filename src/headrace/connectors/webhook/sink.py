"""Posts the rows of an epoch, and waits until the server has accepted each request."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from headrace.connectors.base import WriteContext, require_open
from headrace.connectors.network.requests import is_temporary, token_header
from headrace.connectors.network.tls import client_context
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import retry, server_errors
from headrace.connectors.row_encoding import Fields, content_type, encode_columns
from headrace.connectors.templates import template_expression, template_format
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.webhook import Webhook


class WebhookServer:
    """The receiver of requests, and the meaning of its errors."""

    def __init__(self, options: Webhook) -> None:
        self._options = options

    @property
    def address(self) -> str:
        return self._options.address

    def connect(self) -> httpx.Client:
        headers = {"Content-Type": content_type(self._options.format)}
        headers |= {name: value.get_secret_value() for name, value in self._options.headers.items()}
        headers |= token_header(self._options.token)
        verify = client_context(self._options.tls) if self.address.startswith("https:") else True
        timeout = seconds_of(self._options.timeout)
        return httpx.Client(headers=headers, timeout=timeout, verify=verify)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if isinstance(error, httpx.HTTPStatusError):
            response = error.response
            status = f"{response.status_code} {response.reason_phrase}"
            what = f"answers {status}: {response.text[:200]}".rstrip(": ")
            final = not is_temporary(response.status_code)
            return what, "check the address, the token and the headers" if final else "the next run resumes"
        if isinstance(error, httpx.HTTPError):
            return f"does not answer: {error or type(error).__name__}", "is it running? The next run resumes"
        return None

    def is_unavailable(self, error: Exception) -> bool:
        if isinstance(error, httpx.HTTPStatusError):
            return is_temporary(error.response.status_code)
        return isinstance(error, httpx.TransportError) and "CERTIFICATE_VERIFY_FAILED" not in str(error)


class WebhookPublisher:
    """Sends requests one after the other."""

    def __init__(self, options: Webhook, context: WriteContext) -> None:
        self._options, self._context, self._server = options, context, WebhookServer(options)
        self._timeout = seconds_of(options.retry_timeout)
        self._client: httpx.Client | None = None
        self._resume_at = 0.0
        """The time of the monotonic clock before which the server requests a pause."""

    def expressions(self, fields: Fields) -> list[str]:
        """Return the expressions of the values in the address, and of the row in the format."""
        options, where = self._options, self._context.sink
        columns = options.template_columns
        values = (template_expression(f"{{{name}}}", fields, where) for name in columns)
        value = encode_columns(options, fields, where)
        return [
            f"cast(array({', '.join(values)}) as array<string>)",
            f"cast({value} as binary)",
        ]

    def open(self) -> None:
        self._client = self._server.connect()

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        client = require_open(self._client, self._context.sink)
        for number, (url, rows) in enumerate(self._requests(messages)):
            body = self._body(rows)
            key = {"Idempotency-Key": idempotency_key(self._context, epoch, number, url, body)}
            request = client.build_request(self._options.method, url, content=body, headers=key)
            action = f"the webhook at {self._server.address} "
            with server_errors(self._server, DeliveryError, action, where=self._context.sink):
                retry(self._server, self._timeout, lambda: self._send(client, request))  # noqa: B023

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _requests(self, messages: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, list[bytes]]]:
        """Yield the address and the rows of each request; rows of an address stay in order."""
        url_of = template_format(self._options.url, self._options.template_columns).format
        size = self._options.batch or 1
        waiting: dict[str, list[bytes]] = {}
        for values, row in messages:
            url = url_of(*(quote(value, safe="") for value in values))
            rows = waiting.setdefault(url, [])
            rows.append(row or b"")
            if len(rows) == size:
                yield url, waiting.pop(url)
        yield from waiting.items()

    def _body(self, rows: list[bytes]) -> bytes:
        if self._options.batch is None:
            return rows[0]
        as_json = content_type(self._options.format) == "application/json"
        return b"[%s]" % b",".join(rows) if as_json else b"\n".join(rows) + b"\n"

    def _send(self, client: httpx.Client, request: httpx.Request) -> None:
        time.sleep(max(self._resume_at - time.monotonic(), 0))
        response = client.send(request)
        if not response.is_success:
            seconds = response.headers.get("retry-after", "")
            if seconds.isdigit():
                self._resume_at = time.monotonic() + min(int(seconds), self._timeout)
            raise httpx.HTTPStatusError("", request=request, response=response)


def idempotency_key(context: WriteContext, epoch: int, number: int, url: str, body: bytes) -> str:
    """Return the key of a request: checkpoint id, epoch, number, and a digest of sink and content.

    The digest distinguishes two requests with the same number if an epoch is replayed in another order.
    """
    digest = hashlib.sha256("\0".join((context.pipeline, context.sink, url, "")).encode() + body)
    return f"{context.checkpoint_id}-{epoch}-{number}-{digest.hexdigest()[:16]}"
