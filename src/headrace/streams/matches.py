"""`Matches`: the rows of a pattern's matches, with what timed out and what came too late as outputs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from headrace.durations import Duration
from headrace.errors import OptionError, did_you_mean
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within, skip_of, within_of
from headrace.plan.nodes import Match, Named, Ref
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


class Matches(TimedStream):
    """Matches of a pattern: the key columns, and the measures of `select` or one array of rows for each step.

    A match's own event time is that of its last row.
    """

    stage_after = TimedStream

    @property
    def timeouts(self) -> TimedStream:
        """Partial matches whose time was up: the key columns and one array of rows for each step."""
        return TimedStream(self._pipeline, Ref(self._ref.step, "timeouts"))

    @property
    def late(self) -> Stream:
        """Rows that were behind the watermark when they came, with `late_by`, `watermark` and `reason`."""
        return Stream(self._pipeline, Ref(self._ref.step, "late"))


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
) -> Match:
    """A node for a pattern.

    Raises:
        OptionError: something is not what its option takes.
    """
    where = f"`{name}`"
    if not isinstance(pattern, Pattern):
        hint = 'begin one with patterns.step("small", "amount < 1")'
        raise OptionError(f"expected a pattern, got {pattern!r}", where=where, hint=hint)
    if order not in get_args(Order):
        words = get_args(Order)
        raise OptionError(
            f"expected order to be {' or '.join(words)}, got {order!r}",
            where=where,
            hint=did_you_mean(str(order), words),
        )
    if select is not None and not select:
        raise OptionError("select is empty", where=where, hint="leave it out for the matched rows themselves")
    for measure in (select or {}).values():
        if not isinstance(measure, str):
            hint = 'a Column knows nothing of steps; write text such as "large.ts"'
            raise OptionError(f"expected a measure in Spark SQL, got {measure!r}", where=where, hint=hint)
    measures = None if select is None else tuple(select.items())
    whole = Pattern(pattern.elements)  # the stage it was left in says nothing about it
    return Match(name, ref, keys, whole, within_of(within), skip_of(skip), order, measures)
