"""A limit on attempts that fail, such as logins."""

from __future__ import annotations

import ipaddress
import threading
import time

FORGET_SECONDS = 900.0
"""The time after the last attempt after which all failures are forgotten."""
MAX_KEYS = 10_000
_LARGEST_POWER = 30


class Throttle:
    """Counts failures by key. After some free ones each failure doubles the time until the next attempt.

    >>> throttle = Throttle(free=2, longest=60)
    >>> [throttle.admit("ada", now=0.0) for _ in range(3)], throttle.admit("ada", now=1.0)
    ([0.0, 0.0, 1.0], 0.0)
    >>> throttle.admit("ada", now=1.5), throttle.admit("ben", now=1.5)
    (1.5, 0.0)
    """

    def __init__(self, *, free: int, longest: float) -> None:
        """Accept `free` failures at once, then one attempt in 1, 2, 4, ... and at last `longest` seconds."""
        self._free = free
        self._longest = longest
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}

    def admit(self, key: str, now: float | None = None) -> float:
        """Count a failure and return 0; if the attempt is too early, return the seconds to wait instead.

        A success is reported afterwards, by `clear` or `forgive`, so attempts at the same time are limited.
        """
        at = time.monotonic() if now is None else now
        with self._lock:
            failures, last = self._failures.get(key, (0, at))
            if at - last > FORGET_SECONDS:
                failures = 0
            if (wait := last + self._delay(failures) - at) > 0:
                return wait
            self._failures.pop(key, None)
            self._failures[key] = failures + 1, at
            if len(self._failures) > MAX_KEYS:
                del self._failures[next(iter(self._failures))]
            return 0.0

    def clear(self, key: str) -> None:
        """Forget all failures of a key."""
        with self._lock:
            self._failures.pop(key, None)

    def forgive(self, key: str) -> None:
        """Take back one failure of a key."""
        with self._lock:
            failures, last = self._failures.get(key, (0, 0.0))
            if failures:
                self._failures[key] = failures - 1, last

    def _delay(self, failures: int) -> float:
        power = failures - self._free
        return 0.0 if power < 0 else min(2.0 ** min(power, _LARGEST_POWER), self._longest)


def network_of(address: str) -> str:
    """Return the key of an address; a sender has a whole /64 network of IPv6 addresses.

    >>> network_of("203.0.113.7"), network_of("2001:db8::1") == network_of("2001:db8::2")
    ('203.0.113.7', True)
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
