"""Triggers: when in processing time a window's result is emitted, and `Emission`, how results follow each other.

A trigger is asked once per window and micro-batch, after the batch's rows.

>>> from headrace import triggers
>>> triggers.after_watermark(early=triggers.every("30 seconds"), late=triggers.after_count(1))
AfterWatermark(early=Every(period=30000000), late=AfterCount(rows=1))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean, renamed

Mode = Literal["discarding", "accumulating", "retracting"]
LateRows = Literal["divert", "count"]

if not TYPE_CHECKING:
    __getattr__ = renamed("triggers", {"each_of": "in_sequence(...)"})


@dataclass(frozen=True)
class Trigger:
    """The base of all triggers."""


@dataclass(frozen=True)
class Every(Trigger):
    """Fires a period of processing time after the pane's first row."""

    period: int


@dataclass(frozen=True)
class AfterCount(Trigger):
    """Fires when the pane has so many rows."""

    rows: int


@dataclass(frozen=True)
class AfterWatermark(Trigger):
    """Fires when the watermark passes the window's end; `early` before that and `late` after it, each repeatedly."""

    early: Trigger | None = None
    late: Trigger | None = None


@dataclass(frozen=True)
class AnyOf(Trigger):
    """Fires when one of its triggers does."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class AllOf(Trigger):
    """Fires when each of its triggers has."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class InSequence(Trigger):
    """Fires its triggers in sequence: when one has finished the next begins."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True)
class Repeatedly(Trigger):
    """Starts its trigger again whenever it has finished."""

    trigger: Trigger


@dataclass(frozen=True)
class OrFinally(Trigger):
    """Fires as its trigger does, until `until` fires once; then it is finished."""

    trigger: Trigger
    until: Trigger


def every(period: Duration) -> Every:
    """Fire when so much processing time has gone since the pane's first row.

    >>> every("30 seconds")
    Every(period=30000000)
    """
    length = microseconds(period, where="every")
    if length == 0:
        raise OptionError(f"expected a period above zero, got {period!r}", where="every")
    return Every(length)


def after_count(rows: int) -> AfterCount:
    """Fire when at least so many rows have come since the last firing. No remainder is carried over.

    >>> after_count(100)
    AfterCount(rows=100)
    """
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise OptionError(f"expected a whole number of rows, 1 or more, got {rows!r}", where="after_count")
    return AfterCount(rows)


def after_watermark(*, early: Trigger | None = None, late: Trigger | None = None) -> AfterWatermark:
    """Fire when the watermark passes the window's end.

    Without `late` it is finished then, and rows that come later are `closed`.

    >>> after_watermark(late=after_count(1))
    AfterWatermark(early=None, late=AfterCount(rows=1))
    """
    return AfterWatermark(early, late)


def any_of(*triggers: Trigger) -> AnyOf:
    """Fire when the first of these does.

    >>> any_of(every("1 minute"), after_count(1000))
    AnyOf(triggers=(Every(period=60000000), AfterCount(rows=1000)))
    """
    return AnyOf(_several(triggers, "any_of"))


def all_of(*triggers: Trigger) -> AllOf:
    """Fire when each of these would have.

    >>> all_of(every("1 minute"), after_count(10))
    AllOf(triggers=(Every(period=60000000), AfterCount(rows=10)))
    """
    return AllOf(_several(triggers, "all_of"))


def in_sequence(*triggers: Trigger) -> InSequence:
    """Fire these in sequence.

    >>> in_sequence(after_count(1), after_count(10))
    InSequence(triggers=(AfterCount(rows=1), AfterCount(rows=10)))
    """
    return InSequence(_several(triggers, "in_sequence"))


def repeatedly(trigger: Trigger) -> Repeatedly:
    """Fire whenever this does, for as long as the window lives.

    >>> repeatedly(after_count(10))
    Repeatedly(trigger=AfterCount(rows=10))
    """
    return Repeatedly(trigger)


def or_finally(trigger: Trigger, until: Trigger) -> OrFinally:
    """Fire whenever `trigger` does, until `until` fires; that firing is the last.

    >>> or_finally(repeatedly(after_count(10)), after_watermark())
    OrFinally(trigger=Repeatedly(trigger=AfterCount(rows=10)), until=AfterWatermark(early=None, late=None))
    """
    return OrFinally(trigger, until)


def may_finish(trigger: Trigger) -> bool:
    """Whether the trigger can come to an end while rows may still arrive, so that they would never be emitted.

    >>> may_finish(after_count(1)), may_finish(repeatedly(after_count(1)))
    (True, False)
    """
    match trigger:
        case Repeatedly():
            return False
        case AfterWatermark(late=late):
            return late is None
        case AnyOf(parts) | InSequence(parts) | AllOf(parts):
            return any(map(may_finish, parts)) if isinstance(trigger, AnyOf) else all(map(may_finish, parts))
        case _:
            return True


def parts_of(trigger: Trigger) -> Iterator[Trigger]:
    """The trigger and everything it is made of.

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


def asks_clock(trigger: Trigger) -> bool:
    """Whether processing time plays a part in the trigger.

    >>> asks_clock(after_watermark(early=every("1 minute"))), asks_clock(after_count(1))
    (True, False)
    """
    return any(isinstance(part, Every) for part in parts_of(trigger))


@dataclass(frozen=True)
class Emission:
    """What `emit(...)` says: the trigger, how long late rows are taken, and how panes refine each other."""

    trigger: Trigger = AfterWatermark()
    lateness: int = 0
    mode: Mode = "accumulating"
    allow_loss: bool = False
    late_rows: LateRows = "divert"

    @property
    def fires_once(self) -> bool:
        """Whether a window gives at most one pane: the default emission."""
        return self.trigger == AfterWatermark() and self.lateness == 0

    @property
    def may_lose(self) -> bool:
        """Whether rows can be folded in and never emitted, or be refused by a finished trigger."""
        if isinstance(self.trigger, AfterWatermark):
            late_part_waits = self.lateness > 0 and self.trigger.late not in (None, AfterCount(1))
            return late_part_waits or (self.lateness > 0 and self.trigger.late is None)
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
    """
    if trigger is not None and (early is not None or late is not None):
        raise OptionError(
            "expected either `trigger`, or `early` and `late`, got both",
            where="emit",
            hint="early and late are short for trigger=after_watermark(early=..., late=...)",
        )
    _one_of(mode, get_args(Mode), "emit: mode")
    _one_of(late_rows, get_args(LateRows), "emit: late_rows")
    length = microseconds(lateness, where="emit: lateness")
    if trigger is None:
        trigger = AfterWatermark(early, late or (AfterCount(1) if length else None))
    return Emission(trigger, length, mode, allow_loss, late_rows)


def _several(triggers: tuple[Trigger, ...], where: str) -> tuple[Trigger, ...]:
    if not triggers:
        raise OptionError("expected at least one trigger, got none", where=where)
    for trigger in triggers:
        if not isinstance(trigger, Trigger):
            raise OptionError(f"expected a trigger, got {trigger!r}", where=where)
    return triggers


def _one_of(word: str, known: tuple[str, ...], where: str) -> None:
    if word not in known:
        raise OptionError(
            f"expected one of {', '.join(known)}, got {word!r}",
            where=where,
            hint=did_you_mean(str(word), known),
        )
