"""A pattern over the rows of each key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from pydantic import Field

from headrace.durations import Duration
from headrace.errors import OptionError, did_you_mean
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within, skip_of, within_of
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.grammar.patterns import LATE_ROWS, ORDER, TIMEOUTS, PatternModel
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import KeyColumns
from headrace.triggers import LateRows


@dataclass(frozen=True)
class Match(Node):
    """Finds a pattern in the rows of each key. `select` is None for one array of rows for each step."""

    input: Ref
    keys: Named
    pattern: Pattern
    within: Within = field(default_factory=Within)
    skip: Skip = field(default_factory=Skip)
    order: Order = "event_time"
    select: Named | None = None
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *self._diverted)

    @property
    def _diverted(self) -> tuple[str, ...]:
        return diverted_outputs(timeouts=self.timeouts, late=self.late_rows)

    @property
    def narrow(self) -> bool:
        """Whether nobody sees whole rows, so that only the columns that are looked at are kept."""
        return self.select is not None and not self._diverted


def diverted_outputs(*, timeouts: LateRows, late: LateRows) -> tuple[str, ...]:
    """Return the names of the side outputs that a pattern diverts rows to."""
    return tuple(name for name, choice in (("timeouts", timeouts), ("late", late)) if choice == "divert")


def match_node(
    name: str,
    ref: Ref,
    keys: Named,
    pattern: Pattern,
    *,
    within: Duration | Mapping[str, Duration] | Within | None = None,
    skip: str | Mapping[str, str] | Skip = "past_last",
    order: Order = "event_time",
    select: Mapping[str, str] | None = None,
    late_rows: LateRows = "divert",
    timeouts: LateRows = "divert",
) -> Match:
    """A node for a pattern.

    Raises:
        OptionError: something is not what its option takes.
    """
    where = f"`{name}`"
    if not isinstance(pattern, Pattern):
        hint = 'begin one with patterns.step("small", "amount < 1")'
        raise OptionError(f"expected a pattern, got {pattern!r}", where=where, hint=hint)
    require_words(where, order, late_rows, timeouts)
    if select is not None and not select:
        raise OptionError("select is empty", where=where, hint="leave it out for the matched rows themselves")
    for measure in (select or {}).values():
        if not isinstance(measure, str):
            hint = 'a Column knows nothing of steps; write text such as "large.ts"'
            raise OptionError(f"expected a measure in Spark SQL, got {measure!r}", where=where, hint=hint)
    measures = None if select is None else tuple(select.items())
    whole = Pattern(pattern.elements)  # the stage it was left in says nothing about it
    return Match(
        name, ref, keys, whole, within_of(within), skip_of(skip), order, measures, late_rows, timeouts
    )


def require_words(where: str, order: str, late_rows: str, timeouts: str) -> None:
    fates = get_args(LateRows)
    for option, got, words in (
        ("order", order, get_args(Order)),
        ("late_rows", late_rows, fates),
        ("timeouts", timeouts, fates),
    ):
        if got not in words:
            raise OptionError(
                f"expected {option} to be {' or '.join(words)}, got {got!r}",
                where=where,
                hint=did_you_mean(str(got), words),
            )


class MatchOptions(PatternModel):
    """The value of `match` in a document."""

    order: Order = Field(default="event_time", description=ORDER)
    late_rows: LateRows = Field(default="divert", description=LATE_ROWS)
    timeouts: LateRows = Field(default="divert", description=TIMEOUTS)


class MatchModel(StepModel):
    """`match` in a document."""

    node = Match
    key = "match"
    keys: KeyColumns = Field(default=(), alias="key_by")
    options: MatchOptions = Field(alias="match", description="Finds a pattern in the rows of each key")
