"""Triggers: when in processing time a window emits results; `Emission`: trigger, lateness and mode.

A trigger is evaluated once per window and micro-batch, after the rows of the micro-batch.

>>> from headrace import triggers
>>> triggers.after_watermark(early=triggers.every("30 seconds"), late=triggers.after_count(1))
AfterWatermark(early=Every(period=30000000), late=AfterCount(rows=1))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean

Mode = Literal["discarding", "accumulating", "retracting"]
LateRows = Literal["divert", "count"]


@dataclass(frozen=True)
class Trigger:
    """The base of all triggers."""


@dataclass(frozen=True)
class Every(Trigger):
    """Fires a period of processing time after the pane's first row."""

    period: int


@dataclass(frozen=True)
class AfterCount(Trigger):
    """Fires when the pane has this many rows."""

    rows: int


@dataclass(frozen=True)
class AfterWatermark(Trigger):
    """Fires when the watermark passes the window's end, `early` repeatedly before it and `late` after it."""

    early: Trigger | None = None
    late: Trigger | None = None


@dataclass(frozen=True)
class AnyOf(Trigger):
    """Fires when one of its triggers fires."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class AllOf(Trigger):
    """Fires when each of its triggers has fired."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class InSequence(Trigger):
    """Fires its triggers in sequence: when one has finished, the next one starts."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class Repeatedly(Trigger):
    """Restarts its trigger whenever it has finished."""

    trigger: Trigger


@dataclass(frozen=True)
class OrFinally(Trigger):
    """Fires as its trigger does, until `until` fires once; then it is finished."""

    trigger: Trigger
    until: Trigger


def every(period: Duration) -> Every:
    """Fire when this much processing time has elapsed since the first row of the pane.

    >>> every("30 seconds")
    Every(period=30000000)
    """
    length = microseconds(period, where="every")
    if length == 0:
        raise OptionError(f"expected a period above zero, got {period!r}", where="every")
    return Every(length)


def after_delay(delay: Duration) -> Every:
    """Fire when this delay has passed since the first row of the pane: a synonym of `every`.

    >>> after_delay("30 seconds")
    Every(period=30000000)
    """
    return every(delay)


def after_count(rows: int) -> AfterCount:
    """Fire when at least this many rows have arrived since the last firing. No remainder is carried over.

    >>> after_count(100)
    AfterCount(rows=100)
    """
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise OptionError(f"expected a whole number of rows, 1 or more, got {rows!r}", where="after_count")
    return AfterCount(rows)


def after_watermark(*, early: Trigger | None = None, late: Trigger | None = None) -> AfterWatermark:
    """Fire when the watermark passes the window's end.

    Without `late` it finishes then, and later rows are late with reason `closed`.

    >>> after_watermark(late=after_count(1))
    AfterWatermark(early=None, late=AfterCount(rows=1))
    """
    return AfterWatermark(
        _require_trigger_or_none(early, "after_watermark: early"),
        _require_trigger_or_none(late, "after_watermark: late"),
    )


def any_of(*triggers: Trigger) -> AnyOf:
    """Fire when the first of these fires.

    >>> any_of(every("1 minute"), after_count(1000))
    AnyOf(triggers=(Every(period=60000000), AfterCount(rows=1000)))
    """
    return AnyOf(_require_triggers(triggers, "any_of"))


def all_of(*triggers: Trigger) -> AllOf:
    """Fire when each of these has fired.

    >>> all_of(every("1 minute"), after_count(10))
    AllOf(triggers=(Every(period=60000000), AfterCount(rows=10)))
    """
    return AllOf(_require_triggers(triggers, "all_of"))


def in_sequence(*triggers: Trigger) -> InSequence:
    """Fire these in sequence.

    >>> in_sequence(after_count(1), after_count(10))
    InSequence(triggers=(AfterCount(rows=1), AfterCount(rows=10)))
    """
    return InSequence(_require_triggers(triggers, "in_sequence"))


def repeatedly(trigger: Trigger) -> Repeatedly:
    """Fire whenever this fires, until the window is closed.

    >>> repeatedly(after_count(10))
    Repeatedly(trigger=AfterCount(rows=10))
    """
    return Repeatedly(*_require_triggers((trigger,), "repeatedly"))


def or_finally(trigger: Trigger, until: Trigger) -> OrFinally:
    """Fire whenever `trigger` fires, until `until` fires; that firing is the last.

    >>> or_finally(repeatedly(after_count(10)), after_watermark())
    OrFinally(trigger=Repeatedly(trigger=AfterCount(rows=10)), until=AfterWatermark(early=None, late=None))
    """
    return OrFinally(*_require_triggers((trigger, until), "or_finally"))


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
    match trigger:
        case AfterWatermark(early, late):
            inside: tuple[Trigger | None, ...] = (early, late)
        case AnyOf(parts) | AllOf(parts) | InSequence(parts):
            inside = parts
        case Repeatedly(part):
            inside = (part,)
        case OrFinally(part, until):
            inside = (part, until)
        case _:
            inside = ()
    for each in inside:
        if each is not None:
            yield from parts_of(each)


def uses_clock(trigger: Trigger) -> bool:
    """Return True if the trigger depends on processing time.

    >>> uses_clock(after_watermark(early=every("1 minute"))), uses_clock(after_count(1))
    (True, False)
    """
    return any(isinstance(part, Every) for part in parts_of(trigger))


@dataclass(frozen=True)
class Emission:
    """The trigger, lateness and accumulation mode of a window."""

    trigger: Trigger = AfterWatermark()
    lateness: int = 0
    mode: Mode = "accumulating"
    allow_loss: bool = False
    late_rows: LateRows = "divert"

    @property
    def fires_once(self) -> bool:
        """True if a window emits at most one pane: the default emission."""
        return self.trigger == AfterWatermark() and self.lateness == 0

    @property
    def may_lose(self) -> bool:
        """True if rows can be aggregated and never emitted, or rejected by a finished trigger."""
        if isinstance(self.trigger, AfterWatermark):
            return self.lateness > 0 and self.trigger.late != AfterCount(1)
        return may_finish(self.trigger)


def emission(
    *,
    early: Trigger | None = None,
    late: Trigger | None = None,
    trigger: Trigger | None = None,
    lateness: Duration = "0 seconds",
    mode: Mode = "accumulating",
    allow_loss: bool = False,
    late_rows: LateRows = "divert",
) -> Emission:
    """Build an `Emission` from either form: `early` and `late`, or one `trigger`.

    >>> emission(lateness="5 minutes").trigger
    AfterWatermark(early=None, late=AfterCount(rows=1))

    Raises:
        OptionError: an option has an invalid value, or the forms are mixed.
    """
    for name, part in {"early": early, "late": late, "trigger": trigger}.items():
        _require_trigger_or_none(part, f"emit: {name}")
    if trigger is not None and (early is not None or late is not None):
        raise OptionError(
            "expected either `trigger`, or `early` and `late`, got both",
            where="emit",
            hint="early and late are short for trigger=after_watermark(early=..., late=...)",
        )
    _require_choice(mode, get_args(Mode), "emit: mode")
    _require_choice(late_rows, get_args(LateRows), "emit: late_rows")
    accepted = microseconds(lateness, where="emit: lateness")
    if trigger is None:
        trigger = AfterWatermark(early, late or (AfterCount(1) if accepted else None))
    return Emission(trigger, accepted, mode, allow_loss, late_rows)


def _require_trigger_or_none(trigger: object, where: str) -> Trigger | None:
    if trigger is not None and not isinstance(trigger, Trigger):
        hint = "such as triggers.after_count(100)"
        raise OptionError(f"expected a trigger, got {trigger!r}", where=where, hint=hint)
    return trigger


def _require_triggers(triggers: tuple[Trigger, ...], where: str) -> tuple[Trigger, ...]:
    if not triggers:
        raise OptionError("expected at least one trigger, got none", where=where)
    for trigger in triggers:
        if not isinstance(trigger, Trigger):
            raise OptionError(f"expected a trigger, got {trigger!r}", where=where)
    return triggers


def _require_choice(word: str, known: tuple[str, ...], where: str) -> None:
    if word not in known:
        raise OptionError(
            f"expected one of {', '.join(known)}, got {word!r}",
            where=where,
            hint=did_you_mean(str(word), known),
        )
