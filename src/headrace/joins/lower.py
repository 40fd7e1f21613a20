"""Lower joins of streams: the declaration for the kernel, and the columns of the results."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.joins.declare import WINDOW, AsOfJoin, IntervalJoin, TableJoin, TwoInputs, WindowJoin
from headrace.joins.sides import LEFT, RIGHT, key_names, late_rows, pack_sides, pair_columns
from headrace.joins.tables import pack_table, table_join_output, table_join_step
from headrace.lowering.dispatch import lower, select_output
from headrace.lowering.expressions import TIME, column
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.lowering.outputs import output_of, tagged_rows
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.base import Ref
from headrace.steps.expressions import Expression
from headrace.steps.facts import Time
from headrace.windows import Attached, Cumulating, Sliding

if TYPE_CHECKING:
    from headrace.lowering.lowering import Lowering


@lower.register(TwoInputs)
def _join(node: TwoInputs, lowering: Lowering) -> DataFrame:
    left, right = lowering.frame(node.input), lowering.frame(node.other)
    frame = pack_inputs(left, right, node)
    step = _step(frame, node, lowering.graph.facts(node.input).time)
    return run_keyed_step(frame, step, lowering.count(node))


@lower.register(TableJoin)
def _table_join(node: TableJoin, lowering: Lowering) -> DataFrame:
    left, right = (lowering.changes(ref) for ref in node.inputs)
    facts = [lowering.graph.facts(ref) for ref in node.inputs]
    frame = pack_table(left, right, node, cdc=facts[1].cdc)
    return run_keyed_step(frame, table_join_step(frame, node, facts), lowering.count(node))


@select_output.register(TwoInputs)
def _join_output(node: TwoInputs, ref: Ref, raw: DataFrame) -> DataFrame:
    """Return one output of a join, from the structs of its sides."""
    rows = tagged_rows(ref, raw)
    if ref.output:
        return late_rows(rows)
    added = [WINDOW] if isinstance(node, WindowJoin) else []
    columns = pair_columns(rows, node, () if node.omits_right else node.key_pairs)
    return rows.select(
        *(item.alias(name) for name, item in columns.items()),
        *(name for name in added if name not in columns),
        F.col(TIME),
    )


@select_output.register(TableJoin)
def _table_join_output(node: TableJoin, ref: Ref, raw: DataFrame) -> DataFrame:
    return output_of(node, ref, raw) if ref.output else table_join_output(tagged_rows(ref, raw), node)


def pack_inputs(left: DataFrame, right: DataFrame, node: TwoInputs) -> DataFrame:
    """Return the rows of both sides in one frame."""
    if isinstance(node, WindowJoin):
        keys = [column(key) for _, key in node.keys]
        if isinstance(node.window, Attached):  # the last two key columns are the bounds
            keys += [F.expr(bound).cast("timestamp") for bound in (node.window.start, node.window.end)]
        return pack_sides(left, right, keys, keys)
    left_keys = [F.col(f"`{key}`") for key, _ in node.key_pairs]
    return pack_sides(left, right, left_keys, [F.col(f"`{key}`") for _, key in node.key_pairs])


def _step(frame: DataFrame, node: TwoInputs, time: Time) -> Any:
    """Return the kernel's step."""
    classes = kernel(frame.sparkSession)
    keys = [name for name in frame.columns if name in key_names(len(frame.columns))]
    declared = {"keys": keys, "time": time}
    if isinstance(node, AsOfJoin):
        options = {"direction": node.direction, "tolerance": node.tolerance, "how": node.how}
        return classes.joins.AsOfStep.apply(java_frame(frame), json.dumps({**declared, **options}))
    assert isinstance(node, IntervalJoin | WindowJoin)
    text = json.dumps({**declared, "how": node.how, **_scope(node)})
    return classes.joins.JoinStep.apply(java_frame(frame), _condition(frame, node.where), text)


def _scope(node: IntervalJoin | WindowJoin) -> dict[str, Any]:
    if isinstance(node, IntervalJoin):
        return {"lower": node.within[0], "upper": node.within[1]}
    window: Any = node.window
    if isinstance(window, Attached):
        return {"window": {"kind": window.kind}}
    if isinstance(window, Cumulating):
        return {"window": {"kind": window.kind, **asdict(window)}}
    every = window.every if isinstance(window, Sliding) else window.size
    return {"window": {"size": window.size, "every": every, "offset": getattr(window, "offset", 0)}}


def _condition(frame: DataFrame, where: Expression | None) -> Any:
    """Return an empty frame of pairs with the condition as its only column; None if there is none."""
    if where is None:
        return None
    pairs = frame.sparkSession.createDataFrame([], frame.select(LEFT, RIGHT).schema)
    return java_frame(pairs.select(column(where).cast("boolean").alias("condition")))


def join_driver(left: DataFrame, right: DataFrame, node: TwoInputs) -> KeyedStepDriver:
    """Return a driver of a join in virtual time; of the frames, only the columns are used."""
    frame = pack_inputs(left, right, node)
    return KeyedStepDriver(frame.sparkSession, _step(frame, node, "event"))
