"""The times at which messages arrive, for protocols that do not mark the end of a queue."""

from __future__ import annotations

import threading
import time

from headrace.connectors.options import seconds_of
from headrace.durations import Duration


class Arrivals:
    """The time of the last message; thread-safe."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._stopped = threading.Event()

    def note(self) -> None:
        """Record that a message has arrived, or that a connection was opened."""
        self._at = time.monotonic()

    def await_quiet(self, length: Duration) -> None:
        """Return when no message has arrived for a while, or when the receiver is stopped."""
        quiet = seconds_of(length)
        while (remaining := self._at + quiet - time.monotonic()) > 0:
            if self._stopped.wait(remaining):
                return

    def stop(self) -> None:
        """Let a caller of `await_quiet` return."""
        self._stopped.set()
