"""Count Ctrl-C: the first requests a graceful stop, the second ends the run immediately."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from headrace.runtime.handle import RunHandle

TICK = 0.25
"""Seconds between two status requests, and the longest time until a Ctrl-C takes effect."""
STOPPING = "stopping: the current micro-batch finishes first; Ctrl-C again stops at once"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context that counts SIGINT and SIGTERM; the second raises `KeyboardInterrupt`.

    The first raises nothing, because it can interrupt a call into the JVM, whose response the next call would
    then read. Outside of the main thread, which alone receives signals, it counts nothing.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        signals = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
        self._before = {number: signal.getsignal(number) for number in signals}
        self.take()
        return self

    def take(self) -> None:
        """Install the handlers again: a new SparkContext installs its own, which cancels all jobs."""
        for number in self._before:
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


def each_tick(handle: RunHandle, interrupts: Interrupts, note: Callable[[str], None]) -> Iterator[None]:
    """Yield every `TICK` seconds until the run has ended; the first Ctrl-C stops it gracefully.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the second Ctrl-C.
    """
    stopping: Future[None] | None = None
    # A graceful stop waits for the current micro-batch; this thread must stay free for the second Ctrl-C.
    executor = ThreadPoolExecutor(1, thread_name_prefix="stop")
    while not handle.wait(TICK):
        if interrupts.count and stopping is None:
            note(STOPPING)
            stopping = executor.submit(handle.stop)
        yield
    if stopping is not None:
        stopping.result()
