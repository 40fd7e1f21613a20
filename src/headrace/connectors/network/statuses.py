"""HTTP statuses after which a request is sent again."""

from __future__ import annotations

_TEMPORARY = (408, 425, 429)
_NOT_IMPLEMENTED = 501


def is_temporary(status: int) -> bool:
    """Return True if the same request may succeed later.

    >>> is_temporary(503), is_temporary(429), is_temporary(404), is_temporary(501)
    (True, True, False, False)
    """
    return status in _TEMPORARY or (status >= 500 and status != _NOT_IMPLEMENTED)
