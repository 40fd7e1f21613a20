"""Analyse a whole plan with Spark without reading its sources: `headrace check --spark`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import PlanError, Problem
from headrace.lowering.expressions import drop_hidden
from headrace.lowering.lowering import Lowering
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.runtime.queries.inspection import plan_queries
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from headrace.plan.graph import Graph
    from headrace.steps.base import Ref
    from headrace.steps.endpoints.source import Source
    from headrace.steps.endpoints.table import TableReader

_RECORDS = "value binary, partition string, offset bigint"


class EmptyInputs(StreamInputs):
    """Empty streams and tables with the declared schemas; no server is contacted."""

    def table(self, node: TableReader) -> DataFrame:
        if node.schema is None:
            return super().table(node)
        return self.spark.createDataFrame([], node.schema.ddl)

    def _read(self, node: Source) -> DataFrame:
        decoded = node.connector.carries == "rows" or node.format is None
        if decoded and node.schema is None:
            return super()._read(node)
        schema = node.schema.ddl if decoded and node.schema is not None else _RECORDS
        empty = self.directory / "empty"
        empty.mkdir(exist_ok=True)
        rows = self.spark.readStream.schema(schema).parquet(str(empty))
        # The types of metadata columns are not declared; a null literal is valid in every expression.
        present = {name.lower() for name in rows.columns}
        metadata = [name for name in node.connector.metadata_columns if name.lower() not in present]
        return rows.withColumns({name: F.lit(None) for name in metadata})


def schema_of(graph: Graph, ref: Ref) -> StructType:
    """Return the columns of an output with their types, without reading a source."""
    spark = open_session(graph.name, jars=jars_for(graph.connectors))
    with TemporaryDirectory(prefix="headrace-") as place:
        inputs = EmptyInputs(spark, graph.name, Path(place), Heartbeats(spark, place))
        return drop_hidden(Lowering(spark, graph, inputs).frame(ref)).schema


def analyse(graph: Graph) -> list[Problem]:
    """Return the problems that Spark's analyzer reports about a plan, type errors included."""
    spark = open_session(graph.name, jars=jars_for(graph.connectors))
    try:
        with plan_queries(spark, graph, build_inputs=EmptyInputs):
            return []
    except PlanError as error:
        return list(error.problems)
