"""Spark's own plan of each query: what `headrace explain --physical` shows. Nothing is read or written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.plan.queries import Query
from headrace.runtime.queries import Assembled, Assembly
from headrace.spark.gateway import java_frame, jvm
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.graph import Graph


def physical_plans(
    graph: Graph, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The physical plan of each query's trunk, by the query's name, in the order they start.

    What comes after a query's stateful step runs batch by batch and isn't in it. The plan is that of a first batch;
    Spark plans every batch anew.
    """
    spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
    with assembled_aside(spark, graph) as built:
        return {query.query.name: _plan(query.trunk) for query in built}


@contextmanager
def assembled_aside(spark: SparkSession, graph: Graph) -> Iterator[list[Assembled]]:
    """The plan's queries, put together in a place of their own to be looked at, not run."""
    with TemporaryDirectory(prefix="headrace-explain-") as place:
        heartbeats = Heartbeats(spark, place)

        def inputs_of(query: Query) -> StreamInputs:
            return StreamInputs(spark, graph.name, place, heartbeats, speaks_for=query.speaks_for)

        assembly = Assembly(
            spark, graph, place, inputs_of=inputs_of, writer_of=lambda sink: sink.connector.writer()
        )
        built = assembly.assembled()
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
