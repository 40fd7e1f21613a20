"""Requests that connectors send over HTTP: their token, and the statuses after which they are sent again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import SecretStr

if TYPE_CHECKING:
    import httpx

_TEMPORARY = (408, 425, 429)
_NOT_IMPLEMENTED = 501


def token_header(token: SecretStr | None) -> dict[str, str]:
    """Return the header `Authorization: Bearer ...`; none without a token."""
    return {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}


def is_temporary(status: int) -> bool:
    """Return True if the same request may succeed later.

    >>> is_temporary(503), is_temporary(429), is_temporary(404), is_temporary(501)
    (True, True, False, False)
    """
    return status in _TEMPORARY or (status >= 500 and status != _NOT_IMPLEMENTED)


def open_client(headers: Mapping[str, str], timeout: float) -> httpx.Client:
    """Return a client that follows redirects to the same host and port only, or from http to https.

    The headers of a request may hold a token, and a service decides which hosts a document may name.
    """
    import httpx

    return httpx.Client(
        headers=headers,
        timeout=timeout,
        follow_redirects=True,
        event_hooks={"response": [_refuse_other_origin]},
    )


def _refuse_other_origin(response: httpx.Response) -> None:
    import httpx

    if response.has_redirect_location:
        source = response.request.url
        target = source.join(response.headers["location"])
        if target.host != source.host:
            problem = f"redirects to another host, {target.host}"
        elif (source.scheme, target.scheme) == ("https", "http"):
            problem = "redirects from https to http"
        elif source.scheme == target.scheme and source.port != target.port:
            problem = f"redirects to another port, {target.port or target.scheme}"
        else:
            return
        what = f"answers {response.status_code} and {problem}"
        raise httpx.HTTPStatusError(what, request=response.request, response=response)
