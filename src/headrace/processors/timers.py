"""Timers of a processor, declared as class attributes; each key has its own.

>>> from headrace import Processor, timers
>>> class Rides(Processor):
...     overdue = timers.event()
...
...     def on_overdue(self, at):
...         yield {"ride": self.key.ride}

A timer has at most one pending time per key; `set` replaces it. It calls the method `on_<name>`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, overload

from headrace.durations import Duration, microseconds
from headrace.processors.times import to_micros

__all__ = ["clock", "event"]
Domain = Literal["event", "clock"]


class Timer:
    """A declared timer: a descriptor for the timer of the current key."""

    def __init__(self, domain: Domain) -> None:
        self.domain: Domain = domain
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Timer: ...
    @overload
    def __get__(self, instance: object, owner: type) -> PendingTimer: ...
    def __get__(self, instance: Any, owner: type) -> Timer | PendingTimer:
        return self if instance is None else PendingTimer(self, instance._visit)


class PendingTimer:
    """The timer of the current key."""

    def __init__(self, timer: Timer, visit: Any) -> None:
        self._timer = timer
        self._visit = visit

    def set(self, at: datetime | None = None, /, *, after: Duration | None = None) -> None:
        """Set the time, in place of an earlier one.

        An event-time timer fires when the watermark reaches its time, before the rows of that micro-batch;
        one that is set at or before the watermark fires after the rows of the current micro-batch. A clock
        timer fires by processing time.

        Args:
            at: the time.
            after: or a duration: after the time of the current row (the clock for a clock timer).
        """
        if (at is None) == (after is None):
            raise ValueError(f"timer `{self._timer.name}`: set either a time or after=")
        if at is not None:
            time = to_micros(at)
        else:
            time = self._visit.base_time(self._timer) + microseconds(after, where="after")  # type: ignore[arg-type]
        self._visit.timers[self._timer.name] = time

    def cancel(self) -> None:
        """Remove the pending time, if there is one."""
        self._visit.timers.pop(self._timer.name, None)

    @property
    def at(self) -> datetime | None:
        """The pending time."""
        time: datetime | None = self._visit.pending_time(self._timer.name)
        return time


def event() -> Timer:
    """Declare a timer by event time: it fires when the watermark reaches its time.

    >>> from headrace import Processor, timers
    >>> class Rides(Processor):
    ...     overdue = timers.event()
    ...
    ...     def on_overdue(self, at):
    ...         yield {"ride": self.key.ride}
    >>> list(Rides.declared_timers)
    ['overdue']
    """
    return Timer("event")


def clock() -> Timer:
    """Declare a timer by processing time: it fires in the first micro-batch at or after its time.

    >>> from headrace import Processor, timers
    >>> class Poll(Processor):
    ...     again = timers.clock()
    ...
    ...     def on_again(self, at):
    ...         self.again.set(after="1 minute")
    >>> Poll.declared_timers["again"].domain
    'clock'
    """
    return Timer("clock")
