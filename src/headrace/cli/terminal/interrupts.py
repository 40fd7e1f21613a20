"""Ctrl-C, counted: the first asks for a drain, the second ends the command at once."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is entered, SIGINT and SIGTERM are counted; the second raises `KeyboardInterrupt`.

    Nothing is raised by the first one, because it may come in the middle of a call into the JVM, whose answer would then
    be read by the next call.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self.take()
        return self

    def take(self) -> None:
        """Take the signals, also from pyspark: a new Spark context has a handler of its own that cancels all jobs."""
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
