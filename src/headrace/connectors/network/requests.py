"""Requests that connectors send over HTTP: their token, and the statuses after which they are sent again."""

from __future__ import annotations

from pydantic import SecretStr

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
