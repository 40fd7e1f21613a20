"""Rates of counters over the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

WINDOW_SECONDS = 10.0


class Rates:
    """Differences of counters over a window of time.

    >>> rates = Rates()
    >>> rates.add(0.0, {"rows": 0}), rates.add(2.0, {"rows": 50})
    ({'rows': 0.0}, {'rows': 25.0})
    >>> rates.add(12.0, {"rows": 50}), rates.add(24.0, {"rows": 94}, batch=30.0)
    ({'rows': 0.0}, {'rows': 2.0})
    """

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        self._window = window
        self._past: deque[tuple[float, dict[str, int]]] = deque()

    def add(self, at: float, counters: Mapping[str, int], batch: float = 0.0) -> dict[str, float]:
        """Add the present values and return the rate of each counter per second.

        Counters change at the end of a batch, so the window covers at least two batches of `batch` seconds.
        """
        window = max(self._window, 2 * batch)
        self._past.append((at, dict(counters)))
        while len(self._past) > 2 and self._past[1][0] <= at - window:
            self._past.popleft()
        began, before = self._past[0]
        seconds = at - began
        return {
            name: max(0.0, (value - before.get(name, 0)) / seconds) if seconds > 0 else 0.0
            for name, value in counters.items()
        }
