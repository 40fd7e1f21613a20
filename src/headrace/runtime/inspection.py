"""Inspection of a plan's Spark queries without running them, as for `headrace explain --physical`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.plan.queries import Query
from headrace.runtime.queries import PlannedQuery, QueryPlanner
from headrace.spark.gateway import java_frame, jvm
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph


def physical_plans(
    graph: Graph, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the physical plan of each query's streaming part, by the query's name, in the order they start.

    The steps after a query's stateful step run batch by batch and are not part of it. The plan is that of the
    first batch; Spark plans every batch separately.
    """
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with plan_aside(spark, graph) as built:
        return {query.query.name: _plan(query.stream_plan) for query in built}


@contextmanager
def plan_aside(spark: SparkSession, graph: Graph) -> Iterator[list[PlannedQuery]]:
    """Plan the queries in a temporary directory, without running them."""
    with TemporaryDirectory(prefix="headrace-explain-") as place:
        heartbeats = Heartbeats(spark, place)

        def build_inputs(query: Query) -> StreamInputs:
            return StreamInputs(
                spark, graph.name, place, heartbeats, primary_reader_of=query.primary_reader_of
            )

        built = QueryPlanner(spark, graph, place, build_inputs=build_inputs).plan()
        try:
            yield built
        finally:
            heartbeats.forget()
            for query in built:
                query.inputs.close()


def _plan(frame: DataFrame) -> str:
    execution = java_frame(frame).queryExecution()
    plan: str = jvm(frame.sparkSession).PythonSQLUtils.explainString(execution, "simple")
    return plan.removeprefix("== Physical Plan ==\n").strip()
