"""Lower joins of streams: the declaration for the kernel, and the columns of the results."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import PlanError, Problem
from headrace.lowering.counts import Counts
from headrace.lowering.expressions import TIME, column
from headrace.lowering.joins.sides import LEFT, RIGHT, key_names, late_rows, pack_sides, side_columns
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.expressions import Expression
from headrace.steps.facts import Time, duplicates
from headrace.steps.joins.as_of import AsOfJoin
from headrace.steps.joins.interval import IntervalJoin
from headrace.steps.joins.sides import On, TwoInputs
from headrace.steps.joins.window_join import WINDOW, WindowJoin
from headrace.windows import Attached, Cumulating, Sliding

if TYPE_CHECKING:
    from pyspark.sql import Column


def join_streams(
    left: DataFrame, right: DataFrame, node: TwoInputs, *, time: Time = "event", counts: Counts | None = None
) -> DataFrame:
    """Return the tagged rows of a join: `__output` is `main`, with a pair in `__main`, or `late`.

    Args:
        left: the left rows with `__ts timestamp` and, if arrival order is known, `__position`; a stream has a
            watermark.
        right: the right rows.
        node: the join.
        time: `clock` for ingestion and processing time, where the watermark is the clock.
        counts: the row counters of a stream.
    """
    frame = pack_inputs(left, right, node)
    return run_keyed_step(frame, _step(frame, node, time), counts)


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


def join_output(rows: DataFrame, node: TwoInputs, output: str, where: str) -> DataFrame:
    """Return one output of a join, from the structs of its sides.

    Raises:
        PlanError: a column exists on both sides and the join has no `select`.
    """
    if output == "late":
        return late_rows(rows)
    added = [WINDOW] if isinstance(node, WindowJoin) else []
    keys = () if node.omits_right else node.key_pairs
    columns = pair_columns(rows, node, keys, where)
    return rows.select(
        *(item.alias(name) for name, item in columns.items()),
        *(name for name in added if name not in columns),
        F.col(TIME),
    )


def pair_columns(rows: DataFrame, node: TwoInputs, keys: On, where: str) -> dict[str, Column]:
    """Return the result columns of pairs in the structs `left` and `right`.

    A key column of `keys` has the value of the right row if there is no left one.

    Raises:
        PlanError: a column exists on both sides and the join has no `select`.
    """
    if node.select is not None:
        return {name: column(item) for name, item in node.select}
    left = side_columns(rows, LEFT)
    names = node.result_columns(left, side_columns(rows, RIGHT)) or ()
    if clash := duplicates(names):
        raise PlanError([Problem(where, f"two columns are called `{clash[0]}`", node.duplicate_hint)])
    partners = {key.lower(): other for key, other in keys}
    return {
        name: _left_column(name, partners.get(name.lower())) if name in left else F.col(f"{RIGHT}.`{name}`")
        for name in names
    }


def _left_column(name: str, partner: str | None) -> Column:
    own = F.col(f"{LEFT}.`{name}`")
    return own if partner is None else F.coalesce(own, F.col(f"{RIGHT}.`{partner}`"))


def join_driver(left: DataFrame, right: DataFrame, node: TwoInputs) -> KeyedStepDriver:
    """Return a driver of a join in virtual time; of the frames, only the columns are used."""
    frame = pack_inputs(left, right, node)
    return KeyedStepDriver(frame.sparkSession, _step(frame, node, "event"))
