"""A limit on failed logins."""

from __future__ import annotations

import threading
import time
from collections import deque

WINDOW_SECONDS = 300.0
MAX_FAILURES = 5


class LoginThrottle:
    """Counts failed logins by user and by address; too many block further ones for some minutes.

    >>> throttle = LoginThrottle()
    >>> [throttle.fail("ada", now=0.0) for _ in range(5)] and throttle.is_blocked("ada", now=1.0)
    True
    >>> throttle.is_blocked("ada", now=301.0)
    False
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: dict[str, deque[float]] = {}

    def is_blocked(self, *keys: str, now: float | None = None) -> bool:
        """True if one of the keys has failed too often."""
        at = time.monotonic() if now is None else now
        with self._lock:
            return any(len(self._recent(key, at)) >= MAX_FAILURES for key in keys)

    def fail(self, *keys: str, now: float | None = None) -> None:
        """Count a failed login."""
        at = time.monotonic() if now is None else now
        with self._lock:
            for key in keys:
                self._failures.setdefault(key, deque(maxlen=MAX_FAILURES)).append(at)

    def _recent(self, key: str, at: float) -> deque[float]:
        failures = self._failures.get(key, deque())
        while failures and failures[0] <= at - WINDOW_SECONDS:
            failures.popleft()
        if not failures:
            self._failures.pop(key, None)
        return failures
