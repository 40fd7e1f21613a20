"""Bounded runs: process the available input and, for a drain, close every window.

Queries run in waves, because rows of one query are input of the next. A query with processing-time timers
never ends with Spark's `availableNow`, so it is stepped with a manual clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.lowering.watermarks import END_OF_TIME_MS

if TYPE_CHECKING:
    from headrace.runtime.micro_batch.queries import RunQueries
    from headrace.runtime.queries.planner import PlannedQuery
    from headrace.runtime.virtual_time import Clock, SteppedQuery

DRAIN_STEPS, DRAIN_STEP_MS = 8, 366 * 86_400_000
"""Number and length of the clock steps with which a drain closes windows with processing-time triggers; a
step is longer than the period of a trigger.
"""


class BoundedExecution:
    """Runs the queries of a bounded run; with `drains`, stepped queries stay open until `drain`."""

    def __init__(self, queries: RunQueries, *, drains: bool) -> None:
        self._queries = queries
        self._drains = drains
        self._stepped: dict[str, tuple[Clock, SteppedQuery]] = {}

    def catch_up(self) -> None:
        """Process the available input."""
        self._run_waves(self._step_until_idle)

    def drain(self) -> None:
        """Process the rows that the end of the input releases, and close every window."""
        self._run_waves(self._step_to_the_end)

    def _run_waves(self, step: Callable[[PlannedQuery], None]) -> None:
        """Run all queries; those of a wave run concurrently, and `step` runs those that use the clock."""
        for wave in group_into_waves(self._queries.planned):
            launched = [planned for planned in wave if not planned.uses_clock]
            if self._queries.stopping:
                return
            for planned in launched:
                self._queries.launch(planned)
            for planned in wave:
                if planned.uses_clock and not self._queries.stopping:
                    with self._queries.translate_failure(planned):
                        step(planned)
            for planned in launched:
                self._queries.await_end(planned)

    def _step_until_idle(self, planned: PlannedQuery) -> None:
        clock, query = self._queries.launch_stepped(planned)
        query.limit_sources()
        self._read_available(query)
        if self._drains:
            self._stepped[planned.query.name] = clock, query
        else:
            query.stop()

    def _step_to_the_end(self, planned: PlannedQuery) -> None:
        """Read the rows of earlier queries, then move the clock to the end of time."""
        clock, query = self._stepped.pop(planned.query.name)
        query.limit_sources()
        self._read_available(query)
        clock.advance((END_OF_TIME_MS - DRAIN_STEPS * DRAIN_STEP_MS - clock.millis) * 1000)
        self._read_available(query)
        self._close_windows(planned, clock, query)
        query.stop()

    def _read_available(self, query: SteppedQuery) -> None:
        query.step()
        while query.rows_read and not self._queries.stopping:
            query.step()

    def _close_windows(self, planned: PlannedQuery, clock: Clock, query: SteppedQuery) -> None:
        """Advance the clock until no window is open.

        A processing-time trigger sets its next timer one period ahead of the clock, even in the batch in
        which the watermark reaches the end of time; the window closes when that timer fires.
        """
        for _ in range(DRAIN_STEPS):
            if self._queries.stopping or not planned.holds_rows:
                return
            clock.advance(DRAIN_STEP_MS * 1000)
            query.step()


def group_into_waves(planned: list[PlannedQuery]) -> list[list[PlannedQuery]]:
    """Group queries in waves; the reader of an exchange is in a later wave than its writer."""
    waves: list[list[PlannedQuery]] = [[]]
    for each in planned:
        written = {ref for earlier in waves[-1] for ref in earlier.query.writes}
        if written.intersection(each.query.reads):
            waves.append([])
        waves[-1].append(each)
    return waves
