"""Windows: how rows are grouped in event time.

Every window is half open, `[start, end)`: a row exactly at `end` belongs to the next one.

Time-based: `tumbling`, `sliding`, `session`, `global_window`. Their bounds follow from event time alone, so
rows may arrive in any order. Order-dependent: `count`, `delta`, `punctuation`, `landmark`. They process rows
in event-time order, buffered until the watermark has passed them, or with `order="arrival"` in arrival order.
`trailing` gives one result per row.

>>> from headrace import windows
>>> windows.sliding("1 hour", every="10 minutes")
Sliding(size='1 hour', every='10 minutes')
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from headrace.durations import Duration, microseconds, text
from headrace.errors import OptionError

Order = Literal["event_time", "arrival"]


@dataclass(frozen=True, repr=False)
class Window:
    """The base of all window declarations; lengths are microseconds."""

    _lengths: ClassVar[frozenset[str]] = frozenset({"size", "offset", "every", "gap", "reset", "step"})

    def __repr__(self) -> str:
        options = (
            (f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default
        )
        shown = (f"{name}={self._show(name, value)!r}" for name, value in options)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _show(self, name: str, value: Any) -> Any:
        return text(value) if name in self._lengths else value

    @property
    def order_dependent(self) -> bool:
        """True if the bounds depend on the order of rows."""
        return isinstance(self, Count | Delta | Punctuation | Landmark)


@dataclass(frozen=True, repr=False)
class Tumbling(Window):
    """Windows of one size, side by side."""

    size: int
    offset: int = 0


@dataclass(frozen=True, repr=False)
class Sliding(Window):
    """Overlapping windows of one size that start every `every`."""

    size: int
    every: int


@dataclass(frozen=True, repr=False)
class Session(Window):
    """Windows that end after a gap without rows."""

    gap: int


@dataclass(frozen=True, repr=False)
class Global(Window):
    """One window for all rows of a key, without an end."""


@dataclass(frozen=True, repr=False)
class Count(Window):
    """Windows of a number of rows."""

    _lengths: ClassVar[frozenset[str]] = frozenset()

    size: int
    every: int
    order: Order = "event_time"


@dataclass(frozen=True, repr=False)
class Delta(Window):
    """Windows that end when a value differs too much from that of the first row."""

    of: str
    by: float
    order: Order = "event_time"


@dataclass(frozen=True, repr=False)
class Punctuation(Window):
    """Windows that end with a row that satisfies a condition."""

    when: str
    order: Order = "event_time"


@dataclass(frozen=True, repr=False)
class Landmark(Window):
    """Windows that grow from a landmark: a row that satisfies `when`, or every `reset` of event time."""

    when: str | None = None
    reset: int = 0
    step: int = 0
    order: Order = "event_time"


@dataclass(frozen=True, repr=False)
class Trailing(Window):
    """For each row, the rows of the time before it."""

    size: int


def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Tumbling:
    """Windows of one size, side by side: every row is in exactly one.

    They are aligned to 1970-01-01 UTC plus `offset`, not to the first row.

    >>> tumbling("1 day", offset="6 hours")
    Tumbling(size='1 day', offset='6 hours')
    """
    length = _parse_length(size, "tumbling: size")
    return Tumbling(length, microseconds(offset, where="tumbling: offset") % length)


def sliding(size: Duration, *, every: Duration) -> Sliding:
    """Windows of one size that overlap: a row is in `size / every` of them.

    `every` must not exceed `size`: the gaps would leave rows without a window.

    >>> sliding("10 seconds", every="5 seconds")
    Sliding(size='10 seconds', every='5 seconds')
    """
    length, step = _parse_length(size, "sliding: size"), _parse_length(every, "sliding: every")
    if step > length:
        raise OptionError(
            f"expected `every` of at most the size ({text(length)}), got {text(step)}",
            where="sliding",
            hint="with a longer step some rows would be in no window",
        )
    return Sliding(length, step)


def session(gap: Duration) -> Session:
    """Windows that end after a gap without rows.

    A row's own window is `[t, t + gap)`; windows that overlap are merged. Two rows exactly `gap` apart are
    two sessions.

    >>> session("30 seconds")
    Session(gap='30 seconds')
    """
    return Session(_parse_length(gap, "session: gap"))


def global_window() -> Global:
    """One window for all rows of a key. It has no end: without early firings it emits when the input ends.

    >>> global_window()
    Global()
    """
    return Global()


def count(size: int, *, every: int | None = None, order: Order = "event_time") -> Count:
    """Windows of `size` rows of a key; with `every`, a new one opens after that many rows.

    >>> count(100, every=10)
    Count(size=100, every=10)
    """
    return Count(
        _require_rows(size, "count: size"),
        _require_rows(size if every is None else every, "count: every"),
        _require_order(order, "count"),
    )


def delta(of: str, *, by: float, order: Order = "event_time") -> Delta:
    """A row whose value `of` differs from the window's first by more than `by` opens a new window.

    >>> delta("temperature", by=0.5)
    Delta(of='temperature', by=0.5)
    """
    if not isinstance(by, int | float) or not by >= 0:
        raise OptionError(f"expected a number that is not negative, got {by!r}", where="delta: by")
    return Delta(of, by, _require_order(order, "delta"))


def punctuation(when: str, *, order: Order = "event_time") -> Punctuation:
    """The row that satisfies `when` closes the window and belongs to it.

    >>> punctuation("kind = 'auction_closed'")
    Punctuation(when="kind = 'auction_closed'")
    """
    return Punctuation(when, _require_order(order, "punctuation"))


def landmark(
    *,
    when: str | None = None,
    reset: Duration | None = None,
    step: Duration | None = None,
    order: Order = "event_time",
) -> Landmark:
    """A window that grows from a landmark.

    With `when`, the row that satisfies it opens a window and closes the last one; rows before the first
    landmark are window 0. With `reset` and `step`, the window starts anew every `reset` of event time and
    fires every `step`.

    >>> landmark(reset="1 day", step="1 hour")
    Landmark(reset='1 day', step='1 hour')
    """
    if (when is None) == (reset is None) or (reset is None) != (step is None):
        raise OptionError(
            "expected either `when`, or `reset` and `step`",
            where="landmark",
            hint="landmark(when=\"kind = 'open'\") or landmark(reset='1 day', step='1 hour')",
        )
    if when is not None:
        return Landmark(when=when, order=_require_order(order, "landmark"))
    period, length = (
        _parse_length(reset or "", "landmark: reset"),
        _parse_length(step or "", "landmark: step"),
    )
    if period % length:
        raise OptionError(
            f"expected `reset` to be a multiple of `step`, got {text(period)} and {text(length)}",
            where="landmark",
        )
    return Landmark(reset=period, step=length, order=_require_order(order, "landmark"))


def trailing(size: Duration) -> Trailing:
    """One result per row, over the rows of `(t - size, t]`; rows of equal time are in each other's result.

    >>> trailing("1 hour")
    Trailing(size='1 hour')
    """
    return Trailing(_parse_length(size, "trailing: size"))


def state_ttl(ttl: Duration | None) -> int | None:
    """Return a state TTL in microseconds; None for state that never expires.

    Raises:
        OptionError: it is shorter than the watermark's resolution, a millisecond.
    """
    if ttl is None:
        return None
    length = microseconds(ttl, where="window: ttl")
    if length < 1000:
        raise OptionError(f"expected a millisecond or more, got {ttl!r}", where="window: ttl")
    return length


def _parse_length(duration: Duration, where: str) -> int:
    length = microseconds(duration, where=where)
    if length == 0:
        raise OptionError(f"expected a duration above zero, got {duration!r}", where=where)
    return length


def _require_rows(number: int, where: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise OptionError(f"expected a whole number of rows, 1 or more, got {number!r}", where=where)
    return number


def _require_order(order: str, where: str) -> Order:
    if order not in ("event_time", "arrival"):
        raise OptionError(f'expected "event_time" or "arrival", got {order!r}', where=f"{where}: order")
    return order  # type: ignore[return-value]
