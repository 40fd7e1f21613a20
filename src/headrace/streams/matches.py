"""`Matches` and `RuleMatches`: the matches of patterns, with timeouts and late rows as side outputs."""

from __future__ import annotations

from headrace.steps.base import Ref
from headrace.steps.patterns.match_rules import FAULTS
from headrace.streams.stream import Stream
from headrace.streams.timed import TimedStream


class Matches(TimedStream):
    """Matches of a pattern: the key columns, and the measures of `select` or one array of rows for each step.

    The event time of a match is that of its last row.

    >>> from headrace import Pipeline, connect, patterns
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> rises = patterns.step("low", "amount < 10").followed_by("high", "amount > low.amount")
    >>> tx.event_time("ts").key_by("card").match("rises", rises, within="1 minute").timeouts
    <rises.timeouts of p>
    """

    stage_after = TimedStream

    @property
    def timeouts(self) -> TimedStream:
        """Partial matches that timed out: the key columns and one array of rows per step of the pattern."""
        return TimedStream(self._pipeline, Ref(self._ref.step, "timeouts"))

    @property
    def late(self) -> Stream:
        """Rows that arrived behind the watermark, with `late_by`, `watermark` and `reason`."""
        return self._side_output("late")


class RuleMatches(Matches):
    """Matches of a table of rules: the key columns, `rule`, `version`, `start`, `end` and the measures.

    Without measures, and in `.timeouts`, there is `matched`: the rows of each step of the rule, by the name
    of the step.

    >>> from headrace import Pipeline, connect
    >>> tx = Pipeline("p").read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
    >>> tx.event_time("ts").key_by("card").match_rules("alerts", rules="rules.yaml").faults
    <alerts.faults of p>
    """

    @property
    def faults(self) -> Stream:
        """Rules that were read during the run and cannot be used.

        The columns are `rule, version, reason, hint, place, read_at`; `version` is the version that stays
        active, or null.
        """
        return self._side_output(FAULTS)
