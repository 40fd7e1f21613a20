"""Calls, seconds and errors of user code, summed over the tasks of all runs in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.functions.totals import CallTotals
from headrace.steps.code.functions import FunctionStep
from headrace.steps.code.process import Process

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_totals: dict[tuple[str, int], tuple[Any, Any, CallTotals]] = {}
"""The code, the Spark context and the sums, by step and id of the code."""


def totals_of(step: str, target: Any) -> CallTotals:
    """Return the sums of a step, shared by its queries and epochs."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    known = _totals.get((step, id(target)))
    if known is not None and known[1] is context:
        return known[2]
    if context is None:
        return CallTotals()
    sums = CallTotals(context.accumulator(0), context.accumulator(0.0), context.accumulator(0))
    _totals[step, id(target)] = (target, context, sums)
    return sums


def call_totals(graph: Graph) -> dict[str, CallTotals]:
    """Return the sums of each step that runs user code."""
    steps: list[FunctionStep | Process] = [*graph.of(FunctionStep), *graph.of(Process)]
    return {node.name: totals_of(node.name, node.code.load()) for node in steps}
