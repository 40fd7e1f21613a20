"""The runtime of a processor: state, timers and calls of one key after the other, without a JVM.

Spark's Python workers and the test harness drive it in the same way: `begin` with the stored state of a
key, `row` for each of its rows in a micro-batch, and `end`, which returns the state to store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any

from headrace.functions.calls import time_limit
from headrace.functions.failures import RAISED, Failure, WrongResult, describe_definition, describe_failure
from headrace.functions.results import OutputColumns, Values
from headrace.processors.codec import Converters, converters
from headrace.processors.processor import Processor
from headrace.processors.times import BatchTime, to_datetime
from headrace.processors.visit import KeyState, Visit

MAIN, DEAD_LETTERS = "main", "dead_letters"


Emitted = tuple[str, Values, int | None]
"""A row that a processor has emitted: its output, the values of its columns, and its event time."""


@dataclass(frozen=True)
class FailedCall:
    """A call of `process` or of a timer that raised; for a timer, `row` is None."""

    row: Any
    key: Any
    failure: Failure


@dataclass(frozen=True)
class StateUpdate:
    """The state of a key after its visit: the bytes to store (None deletes them), and the next due times."""

    changed: bool
    content: bytes | None
    event_due: int | None
    clock_due: int | None
    buffered: int = 0
    """The change of the number of buffered rows."""


_Call = tuple[Callable[[Any], Any], Any, int | None, str]
"""A call of a method: the method, its argument, its time, and the timer that fired, if any."""


@dataclass
class ProcessorRuntime:
    """Runs one processor over many keys."""

    processor: Processor
    outputs: dict[str, OutputColumns]
    """The columns of each output; the main one is `main`."""
    name: str
    timeout: float | None = None
    """The timeout of a call, in seconds."""
    converters: Converters | None = None
    """Conversions of annotated state; None to read the annotations here."""
    calls: int = 0
    """The number of calls of `process` and of timers; the caller resets it."""
    emitted: list[Emitted] = field(default_factory=list)
    failed: list[FailedCall] = field(default_factory=list)
    _calls: list[_Call] = field(default_factory=list)
    """The successful calls since the last snapshot; repeated if a later call raises."""

    def __post_init__(self) -> None:
        known = self.converters if self.converters is not None else converters(type(self.processor))
        self._state = KeyState(self.processor.cells, known)
        self._visit = Visit(self._state)
        self.processor._visit = self._visit
        self._process = self.processor.process
        self._domains = {name: timer.domain for name, timer in self.processor.declared_timers.items()}

    @property
    def key(self) -> Any:
        """The key that is being visited."""
        return self._visit.key

    @property
    def values(self) -> dict[str, Any]:
        """The state of the key that is being visited, by name; without those that have their defaults."""
        return self._visit.values

    def begin(self, key: Any, content: bytes | None, batch_time: BatchTime) -> None:
        """Begin the visit of a key: restore its state, remove expired values, and fire due timers."""
        self._batch_time, self._stored = batch_time, content
        self._visit.enter(key, content, batch_time)
        self._calls.clear()
        self._snapshot = content
        self._fire_due()

    def row(self, row: Any, time: int | None) -> None:
        """Process a row of the key."""
        if not self._attempt((self._process, row, time, "")):
            self.failed.append(FailedCall(row, self._visit.key, self._failure))

    def end(self) -> StateUpdate:
        """Fire the timers that were set at or before the watermark, and return the state to store."""
        if not self._batch_time.is_over:
            self._fire_due()
        content = self._visit.dump()
        event_due, clock_due = self._visit.next_due(self._domains)
        return StateUpdate(content != self._stored, content, event_due, clock_due)

    def take(self) -> tuple[list[Emitted], list[FailedCall]]:
        """Return and clear the emitted rows and the failures."""
        emitted, failed = self.emitted, self.failed
        self.emitted, self.failed = [], []
        return emitted, failed

    def definition_of(self, method: Callable[[Any], Any] | None = None) -> str:
        """Return file, line and name of a method for failures, by default of `process`."""
        return describe_definition(self.processor._stateful_function or method or self._process, self.name)

    def _fire_due(self) -> None:
        """Fire due timers in the order of their times; at the end of the input, those that were pending."""
        pending = dict(self._visit.timers) if self._batch_time.is_over else None
        while (due := self._next_timer(pending)) is not None:
            name, time = due
            if pending is not None:
                del pending[name]
            self._visit.timers.pop(name, None)
            method = getattr(self.processor, f"on_{name}")
            if not self._attempt((method, to_datetime(time), time, name)):
                self._visit.timers.pop(name, None)
                reason = f"timer `{name}` at {to_datetime(time)}: {self._failure.reason}"
                failure = Failure(reason, self._failure.traceback)
                self.failed.append(FailedCall(None, self._visit.key, failure))

    def _next_timer(self, pending: dict[str, int] | None) -> tuple[str, int] | None:
        timers = self._visit.timers if pending is None else pending
        due = [
            (time, name)
            for name, time in timers.items()
            if name in self._domains and self._is_due(name, time)
        ]
        return min(due)[::-1] if due else None

    def _is_due(self, name: str, time: int) -> bool:
        if self._batch_time.is_over:
            return True
        if self._domains[name] == "clock":
            return time <= self._batch_time.clock
        return self._batch_time.watermark is not None and time <= self._batch_time.watermark

    def _attempt(self, call: _Call) -> bool:
        """Make a call; if it raises, undo its changes and return False."""
        self._visit.time = call[2]
        self.calls += 1
        try:
            if self.timeout is None:
                rows = self._run(call)
            else:
                with time_limit(self.timeout):
                    rows = self._run(call)
        except RAISED as error:
            self._failure = describe_failure(error, self.definition_of(call[0]))
            self._undo(call[3])
            return False
        self.emitted += rows
        self._calls.append(call)
        return True

    def _run(self, call: _Call) -> list[Emitted]:
        run, argument, time, _ = call
        side, values_of = self._visit.start_call(), self.outputs[MAIN].checked_values
        rows: list[Emitted] = [(MAIN, values_of(row), time) for row in _iterate(run(argument))]
        for name, row in side:
            rows.append((name, self.outputs[name].checked_values(row), time))
        return rows

    def _undo(self, fired: str) -> None:
        """Undo the last call: restore the last snapshot and repeat the calls since then that succeeded.

        So a snapshot is taken only after a call raises; it then covers all calls before.
        """
        key = self._visit.key
        self._visit.enter(key, self._snapshot, self._batch_time)
        for call in self._calls:
            _, _, self._visit.time, earlier = call
            self._visit.timers.pop(earlier, None)
            self._run(call)
        self._visit.timers.pop(fired, None)
        self._calls.clear()
        self._snapshot = self._visit.dump()


def _iterate(result: Any) -> Iterable[Any]:
    """Return the rows of a result: an iterable of rows, one row, or None."""
    if result is None:
        return ()
    if type(result) is GeneratorType or isinstance(result, list):
        return result
    if isinstance(result, str | bytes):
        raise WrongResult(f"returned {result!r:.80}, expected rows")
    is_row = isinstance(result, dict) or hasattr(result, "columns") or not hasattr(result, "__iter__")
    is_row = is_row or hasattr(type(result), "model_fields") or hasattr(type(result), "__dataclass_fields__")
    return (result,) if is_row else result
