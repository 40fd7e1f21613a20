"""Select one output from the frame of a step."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import PlanError, Problem
from headrace.lowering.dispatch import select_output
from headrace.lowering.expressions import HIDDEN, OUTPUT, ROUTE
from headrace.lowering.sql_queries import run_query
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import hidden_key
from headrace.steps.facts import LATE_COLUMNS, late_columns
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.route import Route


@select_output.register(Node)
def output_of(node: Node, ref: Ref, raw: DataFrame) -> DataFrame:
    """Return the rows of one output from the frame of a step."""
    if isinstance(node, Route):
        return raw.where(F.col(ROUTE) == ref.output).drop(ROUTE)
    if OUTPUT in raw.columns:
        return _tagged_output(node, ref, tagged_rows(ref, raw))
    if ref.output != MAIN:
        what = f"the output `{ref.output}` is not available with Spark's own operators"
        raise PlanError([Problem(f"`{node.name}`", what)])
    return raw


def tagged_rows(ref: Ref, raw: DataFrame) -> DataFrame:
    """Return the rows of one output from the tagged rows of a step of the kernel."""
    tag = ref.output or "main"
    return raw.where(F.col(OUTPUT) == tag).select(f"{HIDDEN}{tag}.*")


def _tagged_output(node: Node, ref: Ref, rows: DataFrame) -> DataFrame:
    if isinstance(node, RowPattern) and ref.output == MAIN:
        return run_query(node.rest, {node.table: rows}, rows.sparkSession)
    rows = rows.withColumnsRenamed({hidden_key(name): name for name in node.key_names})
    if ref.output == "late":
        return rows.toDF(*late_columns(rows.columns[: -len(LATE_COLUMNS)]))
    return rows
