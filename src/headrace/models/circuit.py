"""A circuit breaker: a service that keeps failing is not called for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Refuses calls after consecutive failures, then lets one call through to try again.

    >>> now = 0.0
    >>> breaker = CircuitBreaker(failures=2, pause=30, clock=lambda: now)
    >>> breaker.record(succeeded=False), breaker.record(succeeded=False), breaker.allows()
    (None, None, False)
    >>> now = 30.0
    >>> breaker.allows(), breaker.allows()
    (True, False)

    Args:
        failures: the number of consecutive failures after which calls are refused.
        pause: how long they are refused, in seconds.
        clock: returns the time in seconds.
    """

    def __init__(self, failures: int, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._pause, self._clock = failures, pause, clock
        self._failed = 0
        self._refused_until = 0.0
        self._lock = threading.Lock()

    def allows(self) -> bool:
        """Return True if the service may be called; after a pause, for one call."""
        with self._lock:
            if self._failed < self._limit:
                return True
            if self._clock() < self._refused_until:
                return False
            self._refused_until = self._clock() + self._pause
            return True

    def record(self, *, succeeded: bool) -> None:
        """Count a call."""
        with self._lock:
            self._failed = 0 if succeeded else self._failed + 1
            if self._failed >= self._limit:
                self._refused_until = self._clock() + self._pause
