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

from typing import TYPE_CHECKING

from headrace.durations import Duration
from headrace.errors import rename_hint
from headrace.windows.kinds import (
    AnyWindow,
    Count,
    Delta,
    Global,
    Landmark,
    Order,
    Punctuation,
    Session,
    Sliding,
    Trailing,
    Tumbling,
    Window,
)

__all__ = [
    "AnyWindow",
    "Count",
    "Delta",
    "Global",
    "Landmark",
    "Order",
    "Punctuation",
    "Session",
    "Sliding",
    "Trailing",
    "Tumbling",
    "Window",
    "count",
    "delta",
    "global_window",
    "landmark",
    "punctuation",
    "session",
    "sliding",
    "trailing",
    "tumbling",
]

if not TYPE_CHECKING:
    __getattr__ = rename_hint("windows", {"everything": "global_window()"})


def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Tumbling:
    """Windows of one size, side by side: every row is in exactly one.

    They are aligned to 1970-01-01 UTC plus `offset`, not to the first row.

    >>> tumbling("1 day", offset="6 hours")
    Tumbling(size='1 day', offset='6 hours')
    """
    return Tumbling.create(size, offset)


def sliding(size: Duration, *, every: Duration) -> Sliding:
    """Windows of one size that overlap: a row is in `size / every` of them.

    `every` must not exceed `size`: the gaps would leave rows without a window.

    >>> sliding("10 seconds", every="5 seconds")
    Sliding(size='10 seconds', every='5 seconds')
    """
    return Sliding.create(size, every)


def session(gap: Duration) -> Session:
    """Windows that end after a gap without rows.

    A row's own window is `[t, t + gap)`; windows that overlap are merged. Two rows exactly `gap` apart are
    two sessions.

    >>> session("30 seconds")
    Session(gap='30 seconds')
    """
    return Session.create(gap)


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
    return Count.create(size, every, order)


def delta(of: str, *, by: float, order: Order = "event_time") -> Delta:
    """A row whose value `of` differs from the window's first by more than `by` opens a new window.

    >>> delta("temperature", by=0.5)
    Delta(of='temperature', by=0.5)
    """
    return Delta.create(of, by, order)


def punctuation(when: str, *, order: Order = "event_time") -> Punctuation:
    """The row that satisfies `when` closes the window and belongs to it.

    >>> punctuation("kind = 'auction_closed'")
    Punctuation(when="kind = 'auction_closed'")
    """
    return Punctuation.create(when, order)


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
    return Landmark.create(when, reset, step, order)


def trailing(size: Duration) -> Trailing:
    """One result per row, over the rows of `(t - size, t]`; rows of equal time are in each other's result.

    >>> trailing("1 hour")
    Trailing(size='1 hour')
    """
    return Trailing.create(size)
