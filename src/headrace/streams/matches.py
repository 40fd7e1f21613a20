"""`Matches`: the rows of a pattern's matches, with what timed out and what came too late as outputs of their own."""

from __future__ import annotations

from headrace.steps.base import Ref
from headrace.steps.patterns.match_rules import FAULTS
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
