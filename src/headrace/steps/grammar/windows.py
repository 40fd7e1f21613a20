"""`window` in documents: one model for each function in `headrace.windows`, with the same arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import Field

from headrace import windows
from headrace.durations import text as duration_text
from headrace.steps.grammar.model import DeclarationModel, OneKey, write_as
from headrace.steps.grammar.values import LengthText, Number, Rows, SqlText
from headrace.windows import Order, Window


class WindowArguments(DeclarationModel[Window]):
    """The arguments of one kind of window."""

    example = "such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}"
    make: ClassVar[Callable[..., Window]]

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        cls.label = f"the window `{cls.__name__.lower()}`"

    def build(self) -> Window:
        return type(self).make(**{name: getattr(self, name) for name in self.model_fields_set})

    @classmethod
    def from_values(cls, source: Window) -> Self:
        """Return the arguments of a window; those with the default value are not set."""
        defaults = {field.name: field.default for field in dataclasses.fields(source)}
        if isinstance(source, windows.Count):
            defaults["every"] = source.size
        values = {name: getattr(source, name) for name in cls.model_fields}
        changed = {name: value for name, value in values.items() if value != defaults[name]}
        return cls.model_validate({name: cls._plain(name, value) for name, value in changed.items()})

    @classmethod
    def _plain(cls, name: str, value: Any) -> Any:
        is_duration = cls.model_fields[name].annotation is str and isinstance(value, int)
        return duration_text(value) if is_duration else value


class Tumbling(WindowArguments):
    """Windows of one size, side by side."""

    short = "size"
    make = windows.tumbling
    size: LengthText
    offset: LengthText = "0 seconds"


class Sliding(WindowArguments):
    """Windows of one size that overlap."""

    make = windows.sliding
    size: LengthText
    every: LengthText


class Session(WindowArguments):
    """Windows that end after a gap without rows."""

    short = "gap"
    make = windows.session
    gap: LengthText


class Global(WindowArguments):
    """One window for all time."""

    make = windows.global_window


class Count(WindowArguments):
    """Windows of a number of rows."""

    short = "size"
    make = windows.count
    size: Rows
    every: Rows = 1
    order: Order = "event_time"


class Delta(WindowArguments):
    """Windows that end when a value has moved away from that of the first row."""

    example = "such as {delta: {of: temperature, by: 5}}"
    make = windows.delta
    of: SqlText
    by: Number
    order: Order = "event_time"


class Punctuation(WindowArguments):
    """Windows that end with a row that satisfies a condition."""

    short = "when"
    make = windows.punctuation
    when: SqlText
    order: Order = "event_time"


class Landmark(WindowArguments):
    """Windows that grow from a landmark: a row that satisfies `when`, or every `reset` of event time."""

    example = "such as {landmark: {when: kind = 'open'}} or {landmark: {reset: 1 day, step: 1 hour}}"
    make = windows.landmark
    when: SqlText = ""
    reset: LengthText = ""
    step: LengthText = ""
    order: Order = "event_time"


class Trailing(WindowArguments):
    """For each row, the rows of the time before it."""

    short = "size"
    make = windows.trailing
    size: LengthText


class WindowModel(OneKey[Window]):
    """The value of `window`."""

    label = "window"
    example = WindowArguments.example
    bare = frozenset({"global"})
    tumbling: Tumbling | None = None
    sliding: Sliding | None = None
    session: Session | None = None
    global_: Global | None = Field(default=None, alias="global")
    count: Count | None = None
    delta: Delta | None = None
    punctuation: Punctuation | None = None
    landmark: Landmark | None = None
    trailing: Trailing | None = None

    def build(self) -> Window:
        _, arguments = self.choice
        window: Window = arguments.build()
        return window

    @classmethod
    def from_values(cls, source: Window) -> Self:
        """Return the model of a window, whose key is the name of its class."""
        key = type(source).__name__.lower()
        model, _ = get_args(cls.model_fields[cls.field_names()[key]].annotation)
        return cls.model_validate({key: model.from_values(source)})


WindowValue = Annotated[Window, write_as(WindowModel)]
