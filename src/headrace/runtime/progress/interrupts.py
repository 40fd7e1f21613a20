"""Handle Ctrl-C: the first requests a graceful stop, the second stops the run immediately."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.errors import wants_traceback

if TYPE_CHECKING:
    from headrace.runtime.handle import RunHandle

TICK = 0.25
"""Seconds between two status requests, and the longest time until a Ctrl-C takes effect."""
STOPPING = "stopping after the current micro-batch; press Ctrl-C again to stop immediately"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context manager that counts SIGINT and SIGTERM; the second raises `KeyboardInterrupt`.

    The first raises nothing: an exception inside a py4j call would leave a response for the next call to
    read. Does nothing outside of the main thread, which alone receives signals.
    """

    def __init__(self) -> None:
        self.count = 0
        self.on_first: Callable[[], None] | None = None
        """Called by the first signal, while no loop looks at the count."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        signals = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
        self._before = {number: signal.getsignal(number) for number in signals}
        self.install()
        return self

    def install(self) -> None:
        """Install the handlers; call again after a SparkContext has installed its own, which cancels jobs."""
        for number in self._before:
            signal.signal(number, self._count)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1 and self.on_first is not None:
            self.on_first()
        if self.count > 1:
            logging.getLogger().addFilter(_is_not_of_py4j)
            raise KeyboardInterrupt


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """False for the traceback that py4j logs on the root logger when Ctrl-C ends a call."""
    return wants_traceback() or record.msg != "KeyboardInterrupt while sending command."


def each_tick(handle: RunHandle, interrupts: Interrupts, show: Callable[[str], None]) -> Iterator[None]:
    """Yield every `TICK` seconds until the run has ended; the first Ctrl-C stops it gracefully.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the second Ctrl-C.
    """
    stopping: Future[None] | None = None
    # stop() blocks until the micro-batch has ended; the main thread must stay free for the second Ctrl-C.
    executor = ThreadPoolExecutor(1, thread_name_prefix="stop")
    while not handle.wait(TICK):
        if interrupts.count and stopping is None:
            show(STOPPING)
            stopping = executor.submit(handle.stop)
        yield
    if stopping is not None:
        stopping.result()
