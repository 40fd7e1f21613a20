"""Warm up a session for a plan: run every query over empty inputs, so that code is loaded and compiled.

No source, sink or table is contacted. Spark caches the code that it generates by its text, so the
first epoch of the run finds the classes that the empty epoch compiled.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import StagedRows, WriteContext
from headrace.errors import PlanError
from headrace.runtime.delivery import consume
from headrace.runtime.queries.analysis import EmptyInputs
from headrace.runtime.queries.inspection import plan_queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.runtime.queries.planner import PlannedQuery
    from headrace.steps.endpoints.source import FrameSource, Source
    from headrace.steps.endpoints.table import TableReader

EPOCH_SECONDS = 60
"""Time limit of an empty epoch."""

_log = logging.getLogger("headrace")


def warm_up(spark: SparkSession, graph: Graph) -> list[str]:
    """Plan and run the queries of a plan over empty inputs.

    A plan that cannot be warmed up, such as one with a table of unknown columns, is left for the take-over.

    Returns:
        The problems that Spark's analyzer reports about the plan.
    """
    if any(node.volatile for node in graph):
        return []
    try:
        with plan_queries(
            spark, graph, build_inputs=_OneEmptyFile, build_writer=lambda sink: _Discard()
        ) as planned:
            for each in planned:
                _run_empty_epoch(each)
    except PlanError as error:
        return [str(problem) for problem in error.problems]
    except Exception:
        _log.info("the warm-up of %s ended early", graph.name, exc_info=True)
    return []


class NeedsDataError(Exception):
    """A plan whose inputs cannot be replaced by empty ones."""


class _OneEmptyFile(EmptyInputs):
    """A stream of one file without rows for each source: enough for an epoch."""

    def frame(self, node: FrameSource) -> DataFrame:
        raise NeedsDataError(node.name)

    def table(self, node: TableReader) -> DataFrame:
        if node.schema is None:
            raise NeedsDataError(node.name)
        return super().table(node)

    def _read(self, node: Source) -> DataFrame:
        if node.schema is None and (node.connector.carries == "rows" or node.format is None):
            raise NeedsDataError(node.name)
        empty = self.directory / "empty"
        if not empty.exists():
            self.spark.createDataFrame([], "value binary").coalesce(1).write.parquet(str(empty))
        return super()._read(node)


class _Discard:
    """A writer that computes its rows and discards them."""

    def open(self, context: WriteContext) -> int:
        return -1

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        consume(frame)
        return StagedRows(0)

    def commit(self, epoch: int, staged: Any) -> None:
        return None

    def close(self) -> None:
        return None


def _run_empty_epoch(planned: PlannedQuery) -> None:
    if planned.uses_clock or planned.delivery.rules is not None:  # never ends, or reads a table of rules
        return
    planned.delivery.open()
    writer = planned.stream_plan.writeStream.outputMode(planned.output_mode).foreachBatch(planned.delivery)
    writer = writer.option("checkpointLocation", str(Path(planned.checkpoint) / "spark"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination(EPOCH_SECONDS)
    finally:
        query.stop()
        planned.delivery.close()
