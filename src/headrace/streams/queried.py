"""`Queried`: what a step written in SQL gives."""

from __future__ import annotations

from headrace.errors import OptionError
from headrace.steps.base import Ref
from headrace.streams.stream import Stream


class _NoLateRowsError(OptionError, AttributeError):
    """An option that isn't there, to a reader; an attribute that isn't there, to Python."""


class Queried(Stream):
    """Rows of a SQL query. They have no time of their own: `event_time` gives them one."""

    stage_after = Stream

    @property
    def late(self) -> Stream:
        """Rows that came too late for the query's `MATCH_RECOGNIZE`, with `late_by`, `watermark` and `reason`.

        Raises:
            OptionError: the query has none, so Spark alone knows what was late.
        """
        if "late" not in self._pipeline.graph[self._ref.step].outputs:
            raise _NoLateRowsError(
                "there are late rows only of a query with MATCH_RECOGNIZE",
                where=f"`{self._ref.step}`",
                hint="window(...).aggregate(...) has them too",
            )
        return Stream(self._pipeline, Ref(self._ref.step, "late"))
