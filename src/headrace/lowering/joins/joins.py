"""Joins of streams: each declaration as the kernel reads it, and the columns of its results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import PlanError, Problem
from headrace.lowering.counts import Counts, Time
from headrace.lowering.expressions import TIME, column
from headrace.lowering.joins.sides import LEFT, RIGHT, key_names, late_rows, pack_sides, side_columns
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.expressions import Expression
from headrace.steps.facts import duplicates
from headrace.steps.joins.as_of import AsOfJoin
from headrace.steps.joins.interval import IntervalJoin
from headrace.steps.joins.sides import TwoInputs
from headrace.steps.joins.window_join import WINDOW, WindowJoin
from headrace.windows import Sliding

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
        time: `clock` for ingestion and processing time, where the clock is the watermark.
        counts: the row accounting; only for streams.
    """
    frame = pack_inputs(left, right, node)
    return run_keyed_step(frame, _step(frame, node, time), counts)


def pack_inputs(left: DataFrame, right: DataFrame, node: TwoInputs) -> DataFrame:
    """Return the rows of both sides in one frame."""
    if isinstance(node, WindowJoin):
        keys = [column(key) for _, key in node.keys]
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
    every = window.every if isinstance(window, Sliding) else window.size
    return {"window": {"size": window.size, "every": every, "offset": getattr(window, "offset", 0)}}


def _condition(frame: DataFrame, where: Expression | None) -> Any:
    """Return the condition as the only column over an empty frame of pairs; None if there is none."""
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
    if node.select is not None:
        chosen = {name: column(item) for name, item in node.select}
    else:
        chosen = _all_columns(rows, node, where)
    return rows.select(
        *(item.alias(name) for name, item in chosen.items()),
        *(name for name in added if name not in chosen),
        F.col(TIME),
    )


def _all_columns(rows: DataFrame, node: TwoInputs, where: str) -> dict[str, Column]:
    left = side_columns(rows, LEFT)
    names = node.result_columns(left, side_columns(rows, RIGHT)) or ()
    if clash := duplicates(names):
        raise PlanError([Problem(where, f"two columns are called `{clash[0]}`", node.duplicate_hint)])
    partners = {key.lower(): other for key, other in node.key_pairs}
    return {
        name: column_or_key(name, None if node.omits_right else partners.get(name.lower()))
        if name in left
        else F.col(f"{RIGHT}.`{name}`")
        for name in names
    }


def column_or_key(name: str, partner: str | None) -> Column:
    """Return a left column; a key has the value of the right row if there is no left one."""
    own = F.col(f"{LEFT}.`{name}`")
    return own if partner is None else F.coalesce(own, F.col(f"{RIGHT}.`{partner}`"))


def join_driver(left: DataFrame, right: DataFrame, node: TwoInputs) -> KeyedStepDriver:
    """Return a join in virtual time; it takes the columns of the frames, whose rows are not read."""
    frame = pack_inputs(left, right, node)
    return KeyedStepDriver(frame.sparkSession, _step(frame, node, "event"))
