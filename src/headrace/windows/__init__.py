"""Windows: how rows are grouped in event time.

Every window is half open, `[start, end)`: a row exactly at `end` belongs to the next one.

Time-based: `tumbling`, `sliding`, `cumulating`, `session`, `global_window`. Their bounds follow from event
time alone, so rows may arrive in any order. `attached` groups rows by the window that an earlier step gave
them. Order-dependent: `count`, `delta`, `punctuation`, `landmark`. They process rows in event-time order,
buffered until the watermark has passed them, or with `order="arrival"` in arrival order. `trailing` gives one
result per row.

>>> from headrace import windows
>>> windows.sliding("1 hour", every="10 minutes")
Sliding(size='1 hour', every='10 minutes')
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainValidator, WithJsonSchema

from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.values import Length, PositiveLength, Rows, SqlText

Order = Literal["event_time", "arrival"]
_COLUMN = re.compile(r"\s*`?([^\W\d]\w*)`?\s*(?:\.\s*(?:start|end)\s*)?", re.IGNORECASE)
"""A column that is a bound of a window, or has it as a field."""


def _require_distance(value: Any) -> float:
    try:
        number = float(value)  # a variable in a document is text
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < math.inf:
        raise expect("a number that is not negative")
    return value if isinstance(value, int) else number


Distance = Annotated[float, PlainValidator(_require_distance), WithJsonSchema({"type": "number"})]


@declare
class Window(Choice):
    """The value of `window`."""

    label: ClassVar[str] = "window"
    example: ClassVar[str] = "such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}"
    python_example: ClassVar[str] = 'such as windows.tumbling("10 minutes")'
    bare: ClassVar[frozenset[str]] = frozenset({"global", "attached"})
    order_dependent: ClassVar[bool] = False
    """True if the bounds depend on the order of rows."""

    @property
    def on_time(self) -> str:
        """The phrase for the time of its last pane, without lateness."""
        return "when it closes" if self.order_dependent else "at the watermark"

    def describe(self) -> str:
        """Describe the window.

        >>> from headrace import windows
        >>> windows.sliding("1 hour", every="10 minutes").describe()
        'sliding 1 hour every 10 minutes'
        """
        order = " in arrival order" if getattr(self, "order", "") == "arrival" else ""
        return f"{self._phrase()}{order}"

    def _phrase(self) -> str:
        raise NotImplementedError


@declare
class Tumbling(Window):
    """Windows of one size, side by side."""

    short: ClassVar[str] = "size"
    size: PositiveLength
    offset: Length = Length(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", Length(self.offset % self.size))

    def _phrase(self) -> str:
        return f"tumbling {text(self.size)}" + (f" offset {text(self.offset)}" if self.offset else "")


@declare
class Sliding(Window):
    """Windows of one size that overlap."""

    size: PositiveLength
    every: PositiveLength
    offset: Length = Length(0)

    def __post_init__(self) -> None:
        if self.every > self.size:
            raise OptionError(
                f"expected `every` of at most the size ({text(self.size)}), got {text(self.every)}",
                hint="with a longer step some rows would be in no window",
            )
        object.__setattr__(self, "offset", Length(self.offset % self.every))

    def _phrase(self) -> str:
        offset = f" offset {text(self.offset)}" if self.offset else ""
        return f"sliding {text(self.size)} every {text(self.every)}{offset}"


@declare
class Cumulating(Window):
    """Windows that start together and grow by a step up to one size."""

    size: PositiveLength
    step: PositiveLength
    offset: Length = Length(0)

    def __post_init__(self) -> None:
        if self.size % self.step:
            lengths = f"{text(self.size)} and {text(self.step)}"
            raise OptionError(f"expected a size that is a multiple of `step`, got {lengths}")
        object.__setattr__(self, "offset", Length(self.offset % self.size))

    def _phrase(self) -> str:
        offset = f" offset {text(self.offset)}" if self.offset else ""
        return f"cumulating up to {text(self.size)} by {text(self.step)}{offset}"


@declare
class Attached(Window):
    """The windows of the rows: columns of the input are their bounds."""

    start: SqlText = "window.start"
    end: SqlText = "window.end"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with the bounds: `window`, or one column each."""
        plain = (_COLUMN.fullmatch(bound) for bound in (self.start, self.end))
        return tuple(dict.fromkeys(match[1] for match in plain if match is not None))

    def _phrase(self) -> str:
        columns = f" {self.start} to {self.end}" if self.start != Attached.start else ""
        return f"the window of the row{columns}"


@declare
class Session(Window):
    """Windows that end after a gap without rows."""

    short: ClassVar[str] = "gap"
    gap: PositiveLength

    def _phrase(self) -> str:
        return f"session, gap {text(self.gap)}"


@declare
class Global(Window):
    """One window for all time."""

    @property
    def on_time(self) -> str:
        return "when the input ends"

    def _phrase(self) -> str:
        return "global window"


@declare
class Count(Window):
    """Windows of a number of rows."""

    short: ClassVar[str] = "size"
    order_dependent: ClassVar[bool] = True
    size: Rows
    every: Rows | None = None
    order: Order = "event_time"

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", self.every or self.size)

    def shorten(self, data: dict[str, object]) -> object:
        """Omit `every` if windows do not overlap."""
        return super().shorten({k: v for k, v in data.items() if k != "every" or self.every != self.size})

    def _phrase(self) -> str:
        return f"count {self.size}" + (f" every {self.every}" if self.every != self.size else "")


@declare
class Delta(Window):
    """Windows that end when a value has moved away from that of the first row."""

    example: ClassVar[str] = "such as {delta: {of: temperature, by: 5}}"
    order_dependent: ClassVar[bool] = True
    of: SqlText
    by: Distance
    order: Order = "event_time"

    def _phrase(self) -> str:
        return f"delta of {self.of} by {self.by:g}"


@declare
class Punctuation(Window):
    """Windows that end with a row that satisfies a condition."""

    short: ClassVar[str] = "when"
    order_dependent: ClassVar[bool] = True
    when: SqlText
    order: Order = "event_time"

    def _phrase(self) -> str:
        return f"up to each row with {self.when}"


@declare
class Landmark(Window):
    """Windows that grow from a landmark: a row that satisfies `when`, or every `reset` of event time."""

    example: ClassVar[str] = (
        "such as {landmark: {when: kind = 'open'}} or {landmark: {reset: 1 day, step: 1 hour}}"
    )
    order_dependent: ClassVar[bool] = True
    when: SqlText | None = None
    reset: PositiveLength | None = None
    step: PositiveLength | None = None
    order: Order = "event_time"

    def __post_init__(self) -> None:
        if (self.when is None) == (self.reset is None) or (self.reset is None) != (self.step is None):
            raise OptionError(
                "expected either `when`, or `reset` and `step`",
                hint="landmark(when=\"kind = 'open'\") or landmark(reset='1 day', step='1 hour')",
            )
        if self.reset is not None and self.step is not None and self.reset % self.step:
            lengths = f"{text(self.reset)} and {text(self.step)}"
            raise OptionError(f"expected `reset` to be a multiple of `step`, got {lengths}")

    def _phrase(self) -> str:
        if self.when is not None or self.reset is None or self.step is None:
            return f"from each row with {self.when}"
        return f"from each {text(self.reset)}, in steps of {text(self.step)}"


@declare
class Trailing(Window):
    """For each row, the rows of the time before it."""

    short: ClassVar[str] = "size"
    size: PositiveLength

    def _phrase(self) -> str:
        return f"trailing {text(self.size)} of each row"


AnyWindow = Annotated[Window, OneOf()]
"""A field with a window of any kind."""


def tumbling(size: Duration, *, offset: Duration = "0 seconds") -> Tumbling:
    """Windows of one size, side by side: every row is in exactly one.

    They are aligned to 1970-01-01 UTC plus `offset`, not to the first row.

    >>> tumbling("1 day", offset="6 hours")
    Tumbling(size='1 day', offset='6 hours')
    """
    return Tumbling.create(size, offset)


def sliding(size: Duration, *, every: Duration, offset: Duration = "0 seconds") -> Sliding:
    """Windows of one size that overlap: a row is in `size / every` of them.

    `every` must not exceed `size`: the gaps would leave rows without a window. Windows start at every
    multiple of `every` after 1970-01-01 UTC, plus `offset`.

    >>> sliding("10 seconds", every="5 seconds")
    Sliding(size='10 seconds', every='5 seconds')
    """
    return Sliding.create(size, every, offset)


def cumulating(size: Duration, *, step: Duration, offset: Duration = "0 seconds") -> Cumulating:
    """Windows that start every `size` and grow by `step`: `[0, step)`, `[0, 2 step)`, up to `[0, size)`.

    A row is in all windows of its start that end after it. `size` is a multiple of `step`; each window has
    its own result, unlike the panes of a tumbling window with early firings.

    >>> cumulating("1 day", step="1 hour")
    Cumulating(size='1 day', step='1 hour')
    """
    return Cumulating.create(size, step, offset)


def attached(*, start: str = "window.start", end: str = "window.end") -> Attached:
    """The windows that rows have from an earlier step, such as `assign_window` or an aggregate of windows.

    Rows with equal bounds are in one window, which closes when the watermark passes its end. A row without
    bounds is late with reason `no_event_time`.

    Args:
        start: the start of the window of a row, Spark SQL text.
        end: its end.

    >>> attached(start="window_start", end="window_end")
    Attached(start='window_start', end='window_end')
    """
    return Attached.create(start, end)


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
