"""`Queried`: the rows of a SQL step."""

from __future__ import annotations

from headrace.errors import OptionError
from headrace.streams.stream import Stream


class _NoLateRowsError(OptionError, AttributeError):
    """An `AttributeError` with a hint."""


class Queried(Stream):
    """The rows of a SQL query. They have no time until `event_time` declares one."""

    stage_after = Stream

    @property
    def late(self) -> Stream:
        """Late rows of `MATCH_RECOGNIZE`, with `late_by`, `watermark` and `reason`.

        Raises:
            OptionError: the query has no MATCH_RECOGNIZE; Spark drops its late rows.
        """
        if "late" not in self._pipeline.graph[self._ref.step].outputs:
            raise _NoLateRowsError(
                "only a query with MATCH_RECOGNIZE has late rows",
                where=f"`{self._ref.step}`",
                hint="or use window(...).aggregate(...)",
            )
        return self._side_output("late")
