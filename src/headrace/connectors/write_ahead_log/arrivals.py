"""The times at which messages arrive, for protocols that do not mark the end of a queue."""

from __future__ import annotations

import threading
import time

from headrace.connectors.options import seconds_of
from headrace.durations import Duration


class Arrivals:
    """The time of the last message; thread-safe.

    Args:
        stopped: set when the receiver is stopped.
    """

    def __init__(self, stopped: threading.Event) -> None:
        self._at = time.monotonic()
        self._stopped = stopped

    def note(self) -> None:
        """Record that a message has arrived, or that a connection was opened."""
        self._at = time.monotonic()

    def await_quiet(self, length: Duration) -> None:
        """Return when no message has arrived for a while, or when the receiver is stopped."""
        quiet = seconds_of(length)
        while (remaining := self._at + quiet - time.monotonic()) > 0:
            if self._stopped.wait(remaining):
                return
