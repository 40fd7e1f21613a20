"""Count Ctrl-C: the first requests a graceful stop, the second ends the command immediately."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context that counts SIGINT and SIGTERM; the second raises `KeyboardInterrupt`.

    The first raises nothing, because it can interrupt a call into the JVM, whose response the next call would
    then read.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self.take()
        return self

    def take(self) -> None:
        """Install the handlers again: a new SparkContext installs its own, which cancels all jobs."""
        for number in _SIGNALS:
            signal.signal(number, self._note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
