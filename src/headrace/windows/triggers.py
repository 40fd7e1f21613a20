"""Triggers, and `Emission`: trigger, lateness and mode. Their public path is `headrace.triggers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import MinLen
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import InitErrorDetails

from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.steps.grammar.declaration import Choice, Declaration, OneOf, declare
from headrace.steps.grammar.problems import expect, invalid
from headrace.steps.grammar.values import Expected, Flag, Length, PositiveLength, Rows

# fmt: off
__all__ = [
    "AfterCount", "AfterWatermark", "AllOf", "AnyOf", "Emission", "Every", "InSequence", "LateRows", "Mode",
    "OrFinally", "Repeatedly", "Trigger", "after_count", "after_delay", "after_watermark", "all_of", "any_of",
    "every", "in_sequence", "or_finally", "repeatedly",
]
# fmt: on

Mode = Literal["discarding", "accumulating", "retracting"]
LateRows = Literal["divert", "count"]


@declare
class Trigger(Choice):
    """A trigger."""

    label: ClassVar[str] = "trigger"
    example: ClassVar[str] = "such as {every: 30 seconds} or {after_count: 100}"
    python_example: ClassVar[str] = "such as triggers.after_count(100)"
    bare: ClassVar[frozenset[str]] = frozenset({"after_watermark"})

    def describe(self, on_time: str = "at the watermark") -> str:
        """Describe the trigger; `on_time` is the phrase for the firing at the watermark.

        >>> any_of(every("1 minute"), after_count(1000)).describe()
        'any of (every 1 minute, after 1000 rows)'
        """
        raise NotImplementedError


AnyTrigger = Annotated[Trigger, OneOf()]
Several = Annotated[
    tuple[AnyTrigger, ...],
    MinLen(1),
    Expected("a list of triggers", "such as {any_of: [{every: 1 minute}, {after_count: 100}]}"),
]


@declare
class Every(Trigger):
    """Fires a period of processing time after the pane's first row."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "period"
    period: PositiveLength

    def describe(self, on_time: str = "") -> str:
        return f"every {text(self.period)}"


@declare
class AfterCount(Trigger):
    """Fires when the pane has this many rows."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "rows"
    rows: Rows

    def describe(self, on_time: str = "") -> str:
        return "after each row" if self.rows == 1 else f"after {self.rows} rows"


@declare
class AfterWatermark(Trigger):
    """The triggers before and after the watermark passes the end of the window."""

    label: ClassVar[str] = "after_watermark"
    example: ClassVar[str] = "such as {after_watermark: {early: {every: 30 seconds}}}"
    early: AnyTrigger | None = None
    late: AnyTrigger | None = None

    def describe(self, on_time: str = "at the watermark") -> str:
        early = [f"early {self.early.describe()}"] if self.early else []
        late = [f"late {self.late.describe()}"] if self.late else []
        return ", ".join([*early, on_time, *late])


@declare
class AnyOf(Trigger):
    """Fires when one of its triggers fires."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "triggers"
    triggers: Several

    def describe(self, on_time: str = "") -> str:
        return f"any of ({', '.join(part.describe() for part in self.triggers)})"


@declare
class AllOf(Trigger):
    """Fires when each of its triggers has fired."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "triggers"
    triggers: Several

    def describe(self, on_time: str = "") -> str:
        return f"all of ({', '.join(part.describe() for part in self.triggers)})"


@declare
class InSequence(Trigger):
    """Fires its triggers in sequence: when one has finished, the next one starts."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "triggers"
    triggers: Several

    def describe(self, on_time: str = "") -> str:
        return f"({', then '.join(part.describe() for part in self.triggers)})"


@declare
class Repeatedly(Trigger):
    """Restarts its trigger whenever it has finished."""

    inline: ClassVar[bool] = True
    short: ClassVar[str] = "trigger"
    trigger: AnyTrigger

    def describe(self, on_time: str = "") -> str:
        return f"repeatedly {self.trigger.describe()}"


@declare
class OrFinally(Trigger):
    """Fires as its trigger does, until `until` fires once; then it is finished."""

    inline: ClassVar[bool] = True
    trigger: AnyTrigger
    until: AnyTrigger

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        hint = "such as {or_finally: [trigger, until]}"
        if not isinstance(value, list | tuple):
            raise expect("a list of two triggers", hint)
        if len(value) != 2:
            raise invalid(f"expected a list of two triggers, got {len(value)}", hint)
        return {"trigger": value[0], "until": value[1]}

    @classmethod
    def translate(cls, error: Any, data: Mapping[str, Any]) -> InitErrorDetails | None:
        places = {"trigger": 0, "until": 1}
        return super().translate(
            {**error, "loc": tuple(places.get(part, part) for part in error["loc"])}, data
        )

    def shorten(self, data: dict[str, Any]) -> Any:
        return [data["trigger"], data["until"]]

    @classmethod
    def inline_schema(cls, properties: dict[str, Any]) -> JsonSchemaValue:
        return {"type": "array", "items": properties["trigger"], "minItems": 2, "maxItems": 2}

    def describe(self, on_time: str = "") -> str:
        return f"({self.trigger.describe()}, until {self.until.describe()})"


def every(period: Duration) -> Every:
    """Fire when this much processing time has elapsed since the first row of the pane.

    >>> every("30 seconds")
    Every(period='30 seconds')
    """
    return Every.create(period)


def after_delay(delay: Duration) -> Every:
    """Fire when this delay has passed since the first row of the pane: a synonym of `every`.

    >>> after_delay("30 seconds")
    Every(period='30 seconds')
    """
    return every(delay)


def after_count(rows: int) -> AfterCount:
    """Fire when at least this many rows have arrived since the last firing. No remainder is carried over.

    >>> after_count(100)
    AfterCount(rows=100)
    """
    return AfterCount.create(rows)


def after_watermark(*, early: Trigger | None = None, late: Trigger | None = None) -> AfterWatermark:
    """Fire when the watermark passes the window's end.

    Without `late` it finishes then, and later rows are late with reason `closed`.

    >>> after_watermark(late=after_count(1))
    AfterWatermark(late=AfterCount(rows=1))
    """
    return AfterWatermark.create(early, late)


def any_of(*triggers: Trigger) -> AnyOf:
    """Fire when the first of these fires.

    >>> any_of(every("1 minute"), after_count(1000))
    AnyOf(triggers=(Every(period='1 minute'), AfterCount(rows=1000)))
    """
    return AnyOf.create(triggers)


def all_of(*triggers: Trigger) -> AllOf:
    """Fire when each of these has fired.

    >>> all_of(every("1 minute"), after_count(10))
    AllOf(triggers=(Every(period='1 minute'), AfterCount(rows=10)))
    """
    return AllOf.create(triggers)


def in_sequence(*triggers: Trigger) -> InSequence:
    """Fire these in sequence.

    >>> in_sequence(after_count(1), after_count(10))
    InSequence(triggers=(AfterCount(rows=1), AfterCount(rows=10)))
    """
    return InSequence.create(triggers)


def repeatedly(trigger: Trigger) -> Repeatedly:
    """Fire whenever this fires, until the window is closed.

    >>> repeatedly(after_count(10))
    Repeatedly(trigger=AfterCount(rows=10))
    """
    return Repeatedly.create(trigger)


def or_finally(trigger: Trigger, until: Trigger) -> OrFinally:
    """Fire whenever `trigger` fires, until `until` fires; that firing is the last.

    >>> or_finally(repeatedly(after_count(10)), after_watermark())
    OrFinally(trigger=Repeatedly(trigger=AfterCount(rows=10)), until=AfterWatermark())
    """
    return OrFinally.create(trigger, until)


def may_finish(trigger: Trigger) -> bool:
    """Return True if the trigger can finish before the last row, so that rows are never emitted.

    >>> may_finish(after_count(1)), may_finish(repeatedly(after_count(1)))
    (True, False)
    """
    match trigger:
        case Repeatedly():
            return False
        case AfterWatermark(late=late):
            return late is None
        case AnyOf(parts):
            return any(map(may_finish, parts))
        case AllOf(parts) | InSequence(parts):
            return all(map(may_finish, parts))
        case _:
            return True


def parts_of(trigger: Trigger) -> Iterator[Trigger]:
    """Yield the trigger and all its parts.

    >>> [type(part).__name__ for part in parts_of(repeatedly(after_watermark(late=after_count(1))))]
    ['Repeatedly', 'AfterWatermark', 'AfterCount']
    """
    yield trigger
    for field in fields(trigger):
        value = getattr(trigger, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Trigger):
                yield from parts_of(part)


def uses_clock(trigger: Trigger) -> bool:
    """Return True if the trigger depends on processing time.

    >>> uses_clock(after_watermark(early=every("1 minute"))), uses_clock(after_count(1))
    (True, False)
    """
    return any(isinstance(part, Every) for part in parts_of(trigger))


@declare
class Emission(Declaration):
    """The value of `emit`: trigger, lateness and accumulation mode of windows."""

    label: ClassVar[str] = "emit"
    example: ClassVar[str] = "such as {lateness: 5 minutes, mode: retracting}"
    early: AnyTrigger | None = None
    """Fires before the watermark passes the window's end, repeatedly."""
    late: AnyTrigger | None = None
    """Fires after it, repeatedly."""
    trigger: AnyTrigger | None = None
    """The long form, instead of early and late."""
    lateness: Length = Length(0)
    """How long after its end a window accepts rows."""
    mode: Mode = "accumulating"
    """How results refine each other."""
    allow_loss: Flag = False
    """Accept a trigger that may leave rows unemitted."""
    late_rows: LateRows = "divert"
    """The spelling of 0.2: `count` is `engine: native` of the step."""

    def __post_init__(self) -> None:
        """Use the short form if there is one: equal emissions are equal in both forms."""
        if self.trigger is not None and (self.early is not None or self.late is not None):
            raise OptionError(
                "expected either `trigger`, or `early` and `late`, got both",
                hint="early and late are short for trigger=after_watermark(early=..., late=...)",
            )
        implied = AfterCount(1) if self.lateness else None
        trigger, late = self.trigger, self.late
        if isinstance(trigger, AfterWatermark) and (trigger.late is not None or implied is None):
            object.__setattr__(self, "early", trigger.early)
            object.__setattr__(self, "trigger", None)
            late = trigger.late
        object.__setattr__(self, "late", None if late == implied else late)

    @classmethod
    def location(cls, arguments: Mapping[str, Any]) -> str:
        return "emit"

    @property
    def firing(self) -> Trigger:
        """The trigger in its long form; with lateness, late rows fire by default.

        >>> Emission.create(lateness="5 minutes").firing
        AfterWatermark(late=AfterCount(rows=1))
        """
        late = self.late or (AfterCount(1) if self.lateness else None)
        return self.trigger or AfterWatermark(self.early, late)

    @property
    def fires_once(self) -> bool:
        """True if a window emits at most one pane: the default emission."""
        return self.firing == AfterWatermark() and self.lateness == 0

    @property
    def may_lose(self) -> bool:
        """True if rows can be aggregated and never emitted, or rejected by a finished trigger."""
        trigger = self.firing
        if isinstance(trigger, AfterWatermark):
            return self.lateness > 0 and trigger.late != AfterCount(1)
        return may_finish(trigger)

    def describe(self, on_time: str = "at the watermark") -> list[str]:
        """Describe the trigger, lateness and mode in short phrases.

        >>> Emission.create(lateness="5 minutes").describe()
        ['fires at the watermark, late after each row', 'lateness 5 minutes', 'accumulating']
        """
        phrases = [f"fires {self.firing.describe(on_time)}"]
        if self.lateness:
            phrases.append(f"lateness {text(self.lateness)}")
        if not self.fires_once or self.mode != "accumulating":
            phrases.append(self.mode)
        if self.allow_loss and self.may_lose:
            phrases.append("may leave rows unemitted")
        return phrases
