"""Reads rows by key from an HTTP service: one request for each key, several at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
from pydantic_core import from_json

from headrace.connectors.http.bodies import BodyError, find_items, split_body
from headrace.connectors.lookups import Key, LookupContext, Values
from headrace.connectors.network.lookup_values import cast_expressions, check_key_template, json_text
from headrace.connectors.network.requests import is_temporary, open_client, token_header
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import retry
from headrace.connectors.templates import template_columns, template_format
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.http import Http

_NO_ROW = (204, 404, 410)


@dataclass(frozen=True)
class HttpTable:
    """A service whose address has the values of the key columns."""

    template: str
    on: tuple[str, ...]
    columns: Mapping[str, str]
    items: str | None
    headers: Mapping[str, str] = field(repr=False)
    timeout: float
    request_retry_timeout: float
    """How long a request is retried, in seconds."""
    concurrency: int

    @property
    def retry_timeout(self) -> float:
        """Zero: each request is retried alone; a failed one does not repeat the others of its batch."""
        return 0.0

    @property
    def address(self) -> str:
        return self.template

    def connect(self) -> HttpKeyReader:
        return HttpKeyReader(self)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        match error:
            case httpx.HTTPStatusError():
                hint = "check the address, the token and the headers"
                return f"{error.request.url} {error}", hint
            case httpx.RequestError():
                what = str(error) or type(error).__name__
                return f"{error.request.url} does not answer: {what}", "start the server"
            case BodyError():
                return str(error), "the answer is a JSON object, or an array of objects; see `items`"
        return None

    def is_unavailable(self, error: Exception) -> bool:
        if isinstance(error, httpx.HTTPStatusError):
            return is_temporary(error.response.status_code)
        return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)


class HttpKeyReader:
    """Sends requests for keys."""

    def __init__(self, table: HttpTable) -> None:
        self._table = table
        self._address = template_format(table.template, table.on).format
        self._client = open_client(table.headers, table.timeout)
        self._pool = ThreadPoolExecutor(table.concurrency, thread_name_prefix="headrace-lookup")

    def rows(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        return dict(zip(keys, self._pool.map(self._rows_of_key, keys), strict=True))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._client.close()

    def _rows_of_key(self, key: Key) -> list[Values]:
        table = self._table
        address = self._address(*(quote(value, safe="") for value in key))
        response = retry(table, table.request_retry_timeout, lambda: self._request(address))
        if response.status_code in _NO_ROW or not response.content.strip():
            return []
        try:
            body = find_items(response.content, table.items) if table.items else response.content
            records = split_body(body, response.headers.get("content-type", ""), "json")
        except BodyError as error:
            raise BodyError(f"{address}: {error}") from None
        rows = map(from_json, records)
        return [tuple(json_text(row.get(column)) for column in table.columns) for row in rows]

    def _request(self, address: str) -> httpx.Response:
        response = self._client.get(address)
        if response.status_code in _NO_ROW or response.is_success:
            return response
        what = f"answers {response.status_code} {response.reason_phrase}"
        raise httpx.HTTPStatusError(what, request=response.request, response=response)


def http_table(options: Http, context: LookupContext) -> HttpTable:
    """Return the table of a lookup.

    Raises:
        SourceError: the address has no key column, or names other columns than `on`.
    """
    template = options.url
    if template is None:
        hint = 'add url="https://host/cards/{card}"'
        raise SourceError("a lookup requests the address `url`", where=context.step, hint=hint)
    if not template_columns(template):
        hint = f"write the key into it, such as {template.rstrip('/')}/{{{context.on[0]}}}"
        raise SourceError(f"the address `{template}` has no key column", where=context.step, hint=hint)
    check_key_template(template, context)
    return HttpTable(
        template,
        context.on,
        cast_expressions(context),
        options.items,
        {**options.headers, **token_header(options.token)},
        seconds_of(options.timeout),
        seconds_of(options.retry_timeout),
        context.concurrency,
    )
