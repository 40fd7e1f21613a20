"""Key columns and the time of keyed steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.lowering.counts import Time
from headrace.lowering.expressions import column, spelled_name
from headrace.steps.expressions import Named, hidden_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph
    from headrace.steps.joins.sides import TwoInputs
    from headrace.steps.keyed import KeyedNode
    from headrace.steps.patterns.match_recognize import RowPattern


def add_keys(frame: DataFrame, keys: Named) -> tuple[DataFrame, list[str]]:
    """Return the frame with computed keys as hidden columns, and the names of all key columns."""
    names = [spelled_name(frame, name) if key == name else hidden_key(name) for name, key in keys]
    return frame.withColumns({hidden_key(name): column(key) for name, key in keys if key != name}), names


def time_of(graph: Graph, node: KeyedNode | RowPattern | TwoInputs) -> Time:
    """Return the time of a step with one input, or of the left input of a join."""
    return "clock" if graph.facts(node.input).by_clock else "event"
