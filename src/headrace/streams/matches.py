"""`Matches`: the rows of a pattern's matches, with what timed out and what came too late as outputs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from headrace.connectors.base import Connector
from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within, skip_of, within_of
from headrace.schemas.fields import Schema
from headrace.steps.base import Ref
from headrace.steps.expressions import Named
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import FAULTS, MatchRules
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream
from headrace.triggers import LateRows


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


class RuleMatches(Matches):
    """Matches of a table of rules: the key columns, `rule`, `version`, `start`, `end`, and the measures that all rules share.

    Without measures, and in `.timeouts`, there is `matched`: the rows of each step of the rule, by the step's name.
    """

    @property
    def faults(self) -> Stream:
        """Rules that were read while the job ran and can't be used: `rule, version, reason, hint, place, read_at`.

        `version` is the one that stays in force; null where there is none.
        """
        return Stream(self._pipeline, Ref(self._ref.step, FAULTS))


def rules_node(
    name: str,
    ref: Ref,
    keys: Named,
    rules: str | Path | Connector,
    *,
    measures: str | type | Schema | None = None,
    order: Order = "event_time",
    longest: Duration | None = None,
    late_rows: LateRows = "divert",
    timeouts: LateRows = "divert",
) -> MatchRules:
    """A node for a table of rules.

    Raises:
        OptionError: something is not what its option takes.
    """
    where = f"`{name}`"
    if not isinstance(rules, str | Path | Connector) or not str(rules):
        hint = 'write rules="rules.yaml", or rules=connect.postgres(url=..., table="rules")'
        raise OptionError(f"expected a file or a table of rules, got {rules!r}", where=where, hint=hint)
    _require_words(where, order, late_rows, timeouts)
    table = rules if isinstance(rules, Connector) else str(rules)
    columns = None if measures is None else Schema.of(measures)
    most = None if longest is None else microseconds(longest, where=f"{where}: longest")
    return MatchRules(name, ref, keys, table, columns, order, most, late_rows, timeouts)


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
    _require_words(where, order, late_rows, timeouts)
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


def _require_words(where: str, order: str, late_rows: str, timeouts: str) -> None:
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
