"""Calls, seconds and errors of user code, summed over the tasks of all runs in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.functions.totals import CallTotals, ShadowTotals
from headrace.steps.code.functions import WorkerStep

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph

_totals: dict[tuple[str, int], tuple[Any, SparkContext, CallTotals]] = {}
"""The code, the Spark context and the sums, by step and id of the code."""


def totals_of(spark: SparkSession, step: str, target: Any, *, shadow: bool = False) -> CallTotals:
    """Return the sums of a step, shared by its queries and epochs; `shadow` if a second model is compared."""
    context = spark.sparkContext
    known = _totals.get((step, id(target)))
    if known is not None and known[1] is context:
        return known[2]
    compared = None
    if shadow:
        rows, disagreements, errors = (context.accumulator(0) for _ in range(3))
        compared = ShadowTotals(rows, disagreements, context.accumulator(0.0), errors)
    sums = CallTotals(context.accumulator(0), context.accumulator(0.0), context.accumulator(0), compared)
    _totals[step, id(target)] = (target, context, sums)
    return sums


def call_totals(spark: SparkSession, graph: Graph) -> dict[str, CallTotals]:
    """Return the sums of each step that runs user code."""
    code = {node.name: node.worker_code for node in graph.of(WorkerStep)}
    code |= {node.name: keyed for node in graph if (keyed := node.keyed_code) is not None}
    shadowed = {node.name for node in graph.of(WorkerStep) if node.has_shadow}
    return {name: totals_of(spark, name, target, shadow=name in shadowed) for name, target in code.items()}
