"""Outputs of a plan as DataFrames, for use in PySpark."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Literal

from headrace.lowering.expressions import drop_hidden
from headrace.lowering.lowering import Lowering
from headrace.lowering.sources import BatchInputs, StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph
    from headrace.steps.base import Ref


def frame_of(graph: Graph, ref: Ref, *, how: Literal["stream", "batch"] = "stream") -> DataFrame:
    """Return one output of a plan as a DataFrame.

    Args:
        graph: the plan.
        ref: the output.
        how: `"stream"`, or `"batch"` over the present rows of the sources.
    """
    spark = open_session(graph.name, jars=jars_for(graph.connectors))
    if how == "batch":
        return drop_hidden(Lowering(spark, graph, BatchInputs(spark, graph.name)).frame(ref))
    place = Path(mkdtemp(prefix="headrace-"))
    inputs = StreamInputs(spark, graph.name, place, Heartbeats(spark, str(place)))
    return drop_hidden(Lowering(spark, graph, inputs).frame(ref))
