"""Lower window functions to the kernel.

The kernel receives the frame with order columns (`__order0`, ...), and for a range with a bound in a table
with `__low`, the order value where the frame of a row begins. It parses the functions with Spark's parser.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.dispatch import lower
from headrace.lowering.expressions import add_keys
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.lowering.tables.steps import step_time, with_time
from headrace.over.declare import Over
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.facts import Facts
from headrace.steps.grammar.values import Length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from headrace.lowering.lowering import Lowering


@lower.register(Over)
def _over(node: Over, lowering: Lowering) -> DataFrame:
    facts = lowering.graph.facts(node.input)
    frame, keys = add_keys(lowering.changes(node.input), node.keys)
    ready, step = over_step(frame, keys, node, facts)
    return run_keyed_step(ready, step, lowering.count(node))


def over_step(frame: DataFrame, keys: Sequence[str], node: Over, facts: Facts) -> tuple[DataFrame, Any]:
    """Return the input of the kernel's step, and the step."""
    updating = node.form(facts) == "table"
    # The kernel orders rows by time itself; the other columns order rows of equal time.
    orders = node.over.orders if updating else node.over.orders[1:]
    added = {f"__order{i}": F.expr(expression) for i, (expression, _) in enumerate(orders)}
    if updating and node.over.range is not None and node.over.bound is not None:
        added |= _bounded_order(frame, node.over.bound, orders[0])
    ready = with_time(frame).withColumns(added)
    declared = json.dumps(
        {
            "keys": list(keys),
            "time": step_time(facts),
            "updating": updating,
            "arrival": node.form(facts) == "arrival",
            "order": [direction for _, direction in orders],
            "frame": {"kind": "rows" if node.over.rows is not None else "range", **_bound(node)},
            "columns": {name: str(text) for name, text in node.aggregates},
        }
    )
    step = kernel(frame.sparkSession).over.OverStep.apply(java_frame(ready), declared)
    return ready, step


def over_driver(frame: DataFrame, keys: Sequence[str], node: Over, facts: Facts) -> KeyedStepDriver:
    """Return a driver of the step in virtual time; of `frame`, only the columns are used."""
    ready, step = over_step(frame, keys, node, facts)
    return KeyedStepDriver(frame.sparkSession, step, frame, ready)


def _bound(node: Over) -> dict[str, int]:
    """Return the bound of the frame; the distance of a table is in `__low`."""
    return {} if node.over.bound is None else {"preceding": int(node.over.bound)}


def _bounded_order(frame: DataFrame, distance: float, order: tuple[str, str]) -> dict[str, Column]:
    """Return the order column, and the value of its type where the frame of a row begins."""
    expression, direction = order
    kind: Any = frame.select(F.expr(expression)).schema[0].dataType
    if isinstance(distance, float) and not distance.is_integer():
        kind = "double"
    literal = f"interval '{distance}' microsecond" if isinstance(distance, Length) else repr(distance)
    sign = "+" if direction.startswith("desc") else "-"
    low = F.expr(f"({expression}) {sign} {literal}")
    return {"__order0": F.expr(expression).cast(kind), "__low": low.cast(kind)}
