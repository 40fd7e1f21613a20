"""The scheduler: simulated processes and their threads, one clock, and a fault at any call.

Every call of the product to a disk, a lock, a server or the clock, and every fail-point, ends in
`World.step`. There the world may switch to another thread, or inject a fault. All choices come from one
seeded generator, so that a seed repeats a history exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from greenlet import getcurrent, greenlet

FaultKind = Literal[
    "kill", "pause", "power failure", "second start", "lost connection", "server restart", "open transaction"
]

SWITCH = 0.04
"""The probability that another thread continues after a call."""
TICK = 0.001
"""Seconds that a call takes."""
MAX_STEPS = 60_000
"""More calls than a history needs that makes progress."""


class Killed(BaseException):
    """Unwinds the stack of a thread whose process was killed; its calls have no effect any more."""


class StuckError(Exception):
    """No thread can continue, or the history takes too long."""


@dataclass(frozen=True)
class Fault:
    """A fault, injected some calls after a process has reached a point for the `count`-th time."""

    kind: FaultKind
    point: str
    count: int
    after: int = 0


class Process:
    """A simulated process: a driver with its JVM.

    The JVM of a killed driver lives until its next call into Python, and holds the lock that it inherited.
    """

    def __init__(self, world: World, name: str, machine: str) -> None:
        self.world, self.name, self.machine = world, name, machine
        self.pid = len(world.processes) + 1
        self.threads: list[Thread] = []
        self.alive = self.driver_alive = True
        self.in_jvm = False
        self.paused_until = 0.0
        self.completed = False
        """True once it has delivered the whole input."""
        self.evicted = False
        """True once the disk has given the lock to another machine: the checkpoint is out of reach."""
        self.checkpoint = ""
        self.has_opened = False
        """True once it has taken over all sinks."""
        self.on_end: list[Callable[[], None]] = []
        self.failure: BaseException | None = None
        """The error that ended it."""
        world.processes.append(self)

    def start_thread(self, body: Callable[[], None]) -> Thread:
        """Start a thread; the failure of one is that of the process."""
        thread = Thread(self, body)
        self.threads.append(thread)
        self.world.threads.append(thread)
        return thread

    def call_jvm(self, body: Callable[[], None]) -> None:
        """Run a part of Spark that does not call into Python: it survives its driver."""
        self.in_jvm = True
        try:
            body()
        finally:
            self.in_jvm = False
            if not self.driver_alive:
                self.end()

    def kill(self) -> None:
        """Kill the driver; its JVM ends at its next call into Python."""
        self.driver_alive = False
        if not self.in_jvm:
            self.end()

    def end(self) -> None:
        """End driver and JVM; files and connections are closed by the operating system."""
        if self.alive:
            self.alive = self.driver_alive = False
            for callback in self.on_end:
                callback()


class Thread:
    """A thread of a simulated process."""

    def __init__(self, process: Process, body: Callable[[], None]) -> None:
        self.process = process
        self._body = body
        self.wakes = 0.0
        self.condition: Callable[[], bool] | None = None
        """What a blocked thread waits for, at most until `wakes`."""
        self.greenlet = greenlet(self._run, process.world.scheduler)

    @property
    def done(self) -> bool:
        return bool(self.greenlet.dead)

    def is_ready(self, now: float) -> bool:
        """True if it can continue."""
        if not self.process.alive:
            return True  # to unwind its stack
        if self.process.paused_until > now:
            return False
        return now >= self.wakes or (self.condition is not None and self.condition())

    def _run(self) -> None:
        try:
            self._body()
        except Killed:
            pass
        except BaseException as error:
            if self.process.alive:
                self.process.failure = self.process.failure or error
                self.process.end()


@dataclass
class World:
    """One history's machines, processes and clock."""

    random: Random
    faults: list[Fault] = field(default_factory=list)
    injectors: dict[FaultKind, Callable[[Process], None]] = field(default_factory=dict)
    """What the kinds of faults do besides `kill` and `pause`."""

    def __post_init__(self) -> None:
        self.now, self.steps = 1_000_000.0, 0
        self.threads: list[Thread] = []
        self.processes: list[Process] = []
        self.current: Thread | None = None
        self.reached: Counter[str] = Counter()
        self.injected: Counter[tuple[str, str]] = Counter()
        self.observers: dict[str, Callable[[Process], None]] = {}
        """Called with the process that reaches a point."""
        self.trace: list[str] | None = None
        self.last_chance = self.random.randrange(20, 260)
        """The call at which a history without a fault gets one; all histories have more."""
        self._armed: tuple[Fault, Process, int] | None = None
        """A fault whose point was reached, the process, and the calls of it that are still to come."""
        self.scheduler = getcurrent()

    def step(self, point: str) -> None:
        """Let other threads continue, or a fault happen, before a call of the current thread.

        Raises:
            Killed: the process was killed.
        """
        thread = self.current
        if thread is None:  # the simulation itself looks at the state
            return
        process = thread.process
        self._raise_if_dead(process)
        self.steps += 1
        self.now += TICK
        self.reached[point] += 1
        if self.trace is not None:
            self.trace.append(f"{self.now:.3f} {process.name} {point}")
        if point in self.observers:
            self.observers[point](process)
        if self.faults:
            self._inject_if_due(process, point)
        if self.random.random() < SWITCH:
            self._switch_away(thread)

    def sleep(self, seconds: float) -> None:
        """Let the current thread sleep."""
        self.wait_for(None, seconds)

    def wait_for(self, condition: Callable[[], bool] | None, timeout: float | None) -> bool:
        """Block the current thread until a condition holds; return False after the timeout."""
        thread = self.current
        if thread is None:
            raise StuckError("the simulation itself cannot wait")
        thread.condition = condition
        thread.wakes = float("inf") if timeout is None else self.now + timeout
        try:
            self._switch_away(thread)
        finally:
            thread.condition, thread.wakes = None, 0.0
        return condition is None or condition()

    def run(self, is_over: Callable[[], bool]) -> None:
        """Schedule threads until the history is over.

        Raises:
            StuckError: it makes no progress.
        """
        while not is_over():
            if self.steps > MAX_STEPS:
                raise StuckError(f"not over after {self.steps} calls")
            ready = [thread for thread in self.threads if thread.is_ready(self.now)]
            if not ready:
                self._advance()
                continue
            self._continue(ready[0] if len(ready) == 1 else self.random.choice(ready))

    def end(self) -> None:
        """Kill what is still running."""
        for process in self.processes:
            process.end()
        for thread in tuple(self.threads):
            self._continue(thread)

    def inject(self, kind: FaultKind, process: Process, point: str) -> None:
        """Inject a fault into the process that has reached a point."""
        self.injected[point, kind] += 1
        if self.trace is not None:
            self.trace.append(f"{self.now:.3f} {process.name} {kind.upper()} at {point}")
        if kind == "kill":
            process.kill()
            if process.alive:  # its JVM, which may be busy for a while
                process.paused_until = self.now + self.random.choice((0.0, 1.0, 20.0))
        elif kind == "pause":
            process.paused_until = self.now + self.random.choice((0.05, 1.0, 20.0))
        else:
            self.injectors[kind](process)
        self._raise_if_dead(process)
        if process.paused_until > self.now and self.current is not None:
            self._switch_away(self.current)

    def _inject_if_due(self, process: Process, point: str) -> None:
        if self._armed is None:
            for fault in self.faults:
                if fault.point == point and self.reached[point] >= fault.count:
                    self._armed = (fault, process, fault.after)
                    break
        if self._armed is None:
            if self.steps > self.last_chance and not self.injected:
                self.inject(self.faults.pop().kind, process, point)
            return
        fault, owner, remaining = self._armed
        if remaining and owner.alive:
            self._armed = (fault, owner, remaining - (owner is process))
            return
        self._armed = None
        self.faults.remove(fault)
        self.inject(fault.kind, process, point)

    def _switch_away(self, thread: Thread) -> None:
        self.scheduler.switch()
        self._raise_if_dead(thread.process)

    @staticmethod
    def _raise_if_dead(process: Process) -> None:
        if not process.alive:
            raise Killed

    def _continue(self, thread: Thread) -> None:
        self.current = thread
        thread.greenlet.switch()
        self.current = None
        if thread.done:
            self.threads.remove(thread)

    def _advance(self) -> None:
        """Advance the clock to the next moment at which a thread can continue."""
        moments = [max(thread.wakes, thread.process.paused_until) for thread in self.threads]
        paused = [t.process.paused_until for t in self.threads if t.process.paused_until > self.now]
        following = min([*(m for m in moments if m > self.now), *paused], default=float("inf"))
        if following == float("inf"):
            raise StuckError("no thread can continue")
        self.now = following


_active: list[World] = []


def active() -> World:
    """Return the world of the present history."""
    return _active[-1]


def activate(world: World) -> None:
    """Make a world that of the present history."""
    _active[:] = [world]
