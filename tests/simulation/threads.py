"""Stand-ins for `threading`, `time`, `uuid` and `random`, in the simulated world."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random
from types import TracebackType
from typing import Any

from tests.simulation.world import Thread as WorldThread
from tests.simulation.world import active


class Condition:
    """A condition with its lock."""

    def __init__(self) -> None:
        self._owner: WorldThread | None = None
        self._depth = 0
        self._notified = 0

    def __enter__(self) -> None:
        self._acquire(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None

    def wait(self, timeout: float | None = None) -> bool:
        depth, self._depth, self._owner = self._depth, 0, None
        seen = self._notified
        notified = active().wait_for(lambda: self._notified > seen, timeout)
        self._acquire(depth)
        return notified

    def notify_all(self) -> None:
        self._notified += 1

    def _acquire(self, depth: int) -> None:
        world = active()
        if self._owner is not None and self._owner is not world.current and self._owner.process.alive:
            world.wait_for(self._is_free, None)
        self._owner = world.current
        self._depth += depth

    def _is_free(self) -> bool:
        return self._owner is None or not self._owner.process.alive


class Event:
    """An event."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        return self._is_set or active().wait_for(self.is_set, timeout)


class Thread:
    """A thread of the process that starts it."""

    def __init__(self, target: Callable[[], None], name: str = "", daemon: bool = False) -> None:
        self._target = target
        self._thread: WorldThread | None = None

    def start(self) -> None:
        current = active().current
        if current is None:
            raise RuntimeError("only a simulated process can start a thread")
        self._thread = current.process.start_thread(self._target)

    def is_alive(self) -> bool:
        return self._thread is not None and not self._thread.done

    def join(self) -> None:
        active().wait_for(lambda: not self.is_alive(), None)


class Time:
    """The functions of the module `time`."""

    @staticmethod
    def monotonic() -> float:
        return active().now

    time = monotonic

    @staticmethod
    def time_ns() -> int:
        return int(active().now * 1e9)

    @staticmethod
    def sleep(seconds: float) -> None:
        active().sleep(seconds)


class Uuids:
    """The functions of the module `uuid`."""

    @staticmethod
    def uuid4() -> uuid.UUID:
        return uuid.UUID(int=active().random.getrandbits(128))


class SeededRandom:
    """The functions of the module `random`."""

    def __getattr__(self, name: str) -> Any:
        generator: Random = active().random
        return getattr(generator, name)
