"""The kinds of windows; lengths are microseconds."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainValidator, WithJsonSchema

from headrace.durations import text
from headrace.errors import OptionError
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.values import Length, PositiveLength, Rows, SqlText

Order = Literal["event_time", "arrival"]


def _require_distance(value: Any) -> float:
    try:
        number = float(value)  # a variable in a document is text
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not number >= 0:
        raise expect("a number that is not negative")
    return value if isinstance(value, int) else number


Distance = Annotated[float, PlainValidator(_require_distance), WithJsonSchema({"type": "number"})]


def require_millisecond(ttl: Length) -> Length:
    """Return a state TTL; the resolution of the watermark is a millisecond."""
    if ttl < 1000:
        raise expect("a millisecond or more")
    return ttl


@declare
class Window(Choice):
    """The value of `window`."""

    label: ClassVar[str] = "window"
    example: ClassVar[str] = "such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}"
    python_example: ClassVar[str] = 'such as windows.tumbling("10 minutes")'
    bare: ClassVar[frozenset[str]] = frozenset({"global"})
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

    def __post_init__(self) -> None:
        if self.every > self.size:
            raise OptionError(
                f"expected `every` of at most the size ({text(self.size)}), got {text(self.every)}",
                hint="with a longer step some rows would be in no window",
            )

    def _phrase(self) -> str:
        return f"sliding {text(self.size)} every {text(self.every)}"


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
