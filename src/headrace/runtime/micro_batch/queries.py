"""Start, await and stop the Spark queries of a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.lowering.code.failures import as_user_code_error
from headrace.runtime.delivery import Stopped
from headrace.runtime.failures import find_damage, translate_error
from headrace.runtime.virtual_time import Clock, SteppedQuery

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions
    from headrace.runtime.progress.log import ProgressLog
    from headrace.runtime.queries.planner import PlannedQuery

CLOCK_PERIOD = 500_000
"""Default interval, in microseconds, between micro-batches of a step with processing-time timers."""


class RunQueries:
    """The Spark queries of one run."""

    def __init__(
        self, graph: Graph, planned: list[PlannedQuery], options: RunOptions, progress: ProgressLog
    ) -> None:
        self.planned = planned
        self.stopping = False
        """True once the run is stopping; no query starts any more."""
        self._graph = graph
        self._options = options
        self._progress = progress

    def launch(self, planned: PlannedQuery) -> None:
        """Start a query with the trigger of the run."""
        writer = planned.stream_plan.writeStream.outputMode(planned.output_mode).foreachBatch(
            planned.delivery
        )
        writer = writer.queryName(f"{self._graph.name}.{planned.query.name}")
        writer = writer.option("checkpointLocation", str(planned.checkpoint / "spark"))
        planned.spark_query = writer.trigger(**self._trigger(planned)).start()
        self._progress.follow(planned.spark_query, planned.query.name)
        if self.stopping:  # while the query was starting
            planned.spark_query.stop()

    def launch_stepped(self, planned: PlannedQuery) -> tuple[Clock, SteppedQuery]:
        """Start a query that runs a micro-batch per call of `step`, with a manual clock set to the time."""
        clock = Clock(planned.stream_plan.sparkSession)
        clock.advance(int(time.time() * 1000) * 1000)
        planned.spark_query = query = clock.start(
            planned.stream_plan,
            planned.delivery,
            mode=planned.output_mode,
            name=f"{self._graph.name}.{planned.query.name}",
            checkpoint=str(planned.checkpoint / "spark"),
        )
        self._progress.follow(query, planned.query.name)
        return clock, query

    def await_end(self, planned: PlannedQuery) -> None:
        """Wait until a query has ended.

        Raises:
            HeadraceError: it failed.
        """
        if planned.spark_query is not None:
            with self.translate_failure(planned):
                planned.spark_query.awaitTermination()

    @contextlib.contextmanager
    def translate_failure(self, planned: PlannedQuery) -> Iterator[None]:
        """Stop the run if its query fails inside the block, and raise the failure with its location.

        Nothing is raised if the query was stopped.
        """
        try:
            yield
        except BaseException as error:
            failure = planned.delivery.failure
            if isinstance(failure, Stopped) or (self.stopping and failure is None):
                return
            self.stop(failed=planned)
            raise self._locate(failure or error, planned.checkpoint) from error

    def _locate(self, failure: BaseException, checkpoint: Path) -> HeadraceError:
        if damage := find_damage(failure, checkpoint):
            return damage
        # Rows are computed while a sink writes them, so an error of the sink may wrap one of user code.
        if (translated := as_user_code_error(self._graph, failure)) is not None:
            return translated
        return failure if isinstance(failure, HeadraceError) else translate_error(self._graph, failure)

    def stop_gracefully(self) -> None:
        """Stop every query after its current micro-batch."""
        self.stopping = True
        for planned in self.planned:
            planned.delivery.stopping = True
        for planned in self.planned:
            _stop_between_batches(planned)

    def stop(self, failed: PlannedQuery | None = None) -> None:
        """Stop every query immediately, except one that has failed."""
        self.stopping = True
        for planned in self.planned:
            if planned is not failed and planned.spark_query is not None:
                planned.spark_query.stop()

    def _trigger(self, planned: PlannedQuery) -> dict[str, Any]:
        """Return the arguments of `DataStreamWriter.trigger`.

        With processing-time timers Spark runs batches without pause, so such a query has a default interval.
        """
        if self._options.bounded:
            return {"availableNow": True}
        default = CLOCK_PERIOD if planned.uses_clock else 0
        period = self._options.period
        return {"processingTime": f"{default if period is None else period} microseconds"}


def _stop_between_batches(planned: PlannedQuery) -> None:
    """Stop a query after its current micro-batch; the delivery raises `Stopped` if another one begins."""
    query = planned.spark_query
    if isinstance(query, SteppedQuery):  # ends after the current step
        return
    while query is not None and query.isActive:
        if not query.status["isTriggerActive"]:
            query.stop()
        else:
            with contextlib.suppress(Exception):  # `await_end` reports the failure
                query.awaitTermination(0.05)
