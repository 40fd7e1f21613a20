"""Plan Spark queries without running them, for `headrace explain --physical` and for reading state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.connectors.base import Writer
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.runtime.queries.planner import PlannedQuery, QueryPlanner
from headrace.spark.gateway import java_frame, jvm
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.steps.endpoints.sink import Sink


def physical_plans(
    graph: Graph, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the physical plan of the streaming part of each query by name, in the order they start.

    Steps after a stateful step run on the micro-batch and are not included. Spark plans every batch
    separately; this is the plan of the first.
    """
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_queries(spark, graph) as planned:
        return {each.query.name: _format_plan(each.stream_plan) for each in planned}


@contextmanager
def plan_queries(
    spark: SparkSession,
    graph: Graph,
    *,
    build_inputs: type[StreamInputs] = StreamInputs,
    build_writer: Callable[[Sink], Writer] = lambda sink: sink.connector.writer(),
) -> Iterator[list[PlannedQuery]]:
    """Plan the queries in a temporary directory, without running them."""
    with TemporaryDirectory(prefix="headrace-explain-") as place:
        heartbeats = Heartbeats(spark, place)
        planned: list[PlannedQuery] = []
        try:
            planner = QueryPlanner(
                spark, graph, place, heartbeats, build_inputs=build_inputs, build_writer=build_writer
            )
            planned += planner.plan()
            yield planned
        finally:
            heartbeats.close()
            for each in planned:
                each.inputs.close()


def _format_plan(frame: DataFrame) -> str:
    execution = java_frame(frame).queryExecution()
    plan: str = jvm(frame.sparkSession).PythonSQLUtils.explainString(execution, "simple")
    return plan.removeprefix("== Physical Plan ==\n").strip()
