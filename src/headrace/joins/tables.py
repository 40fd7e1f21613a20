"""Lower joins with tables: rows of both sides in one frame, the kernel's step, and the result columns.

A left row has its columns, a right row the struct `__right`. Both have the keys `__key0`, `__key1`, ..., the
event time, the arrival order, and the labels of changelogs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType

from headrace.joins.declare import TableJoin, joined_time
from headrace.joins.sides import LEFT, RIGHT, key_names, pair_columns
from headrace.lowering.event_times import AHEAD
from headrace.lowering.expressions import HIDDEN, POSITION, TIME, column
from headrace.lowering.tables.changes import LABEL, is_changelog
from headrace.lowering.tables.steps import CDC_DELETE, step_time, with_time
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.steps.expressions import Expression
    from headrace.steps.facts import Facts

_ROW, _LABEL, _DELETED = "__right", "__right_change", "__deleted"
_PREFIX = "__right_"
"""Prefix of the right columns, which may have the same names as left ones."""


def table_join_step(frame: DataFrame, node: TableJoin, facts: Sequence[Facts]) -> Any:
    """Return the kernel's step of a join over the packed rows of both sides."""
    step = kernel(frame.sparkSession).tables.TableJoinStep
    return step.apply(java_frame(frame), _condition(frame, node.where), declare_join(node, facts))


def _condition(frame: DataFrame, where: Expression | None) -> Any:
    """Return an empty frame of pairs with the condition as its only column; None if there is none."""
    if where is None:
        return None
    packed: Any = frame.schema[_ROW].dataType
    omitted = {CHANGE} if is_changelog(frame) else set()
    own = [field for field in frame.schema if not field.name.startswith(HIDDEN) and field.name not in omitted]
    left = StructType([*own, frame.schema[TIME]])
    right = StructType(
        [StructField(field.name.removeprefix(_PREFIX), field.dataType) for field in packed.fields]
    )
    pairs = StructType([StructField(LEFT, left), StructField(RIGHT, right)])
    empty = frame.sparkSession.createDataFrame([], pairs)
    return java_frame(empty.select(column(where).cast("boolean").alias("condition")))


def declare_join(node: TableJoin, facts: Sequence[Facts]) -> str:
    """Return the declaration of a join for the kernel, as JSON."""
    left, right = facts
    return json.dumps(
        {
            "keys": key_names(len(node.on)),
            "time": step_time(left) if node.moment(left) != "live" or joined_time(*facts) else "none",
            "at": node.moment(left),
            "how": node.how,
            "single": bool(left.table_key) and set(left.table_key) <= {key for key, _ in node.on},
            "upserts": right.cdc,
            "identity": list(left.table_key if set(left.table_key) <= set(left.columns or ()) else ()),
        }
    )


def pack_table(left: DataFrame, right: DataFrame, node: TableJoin, *, cdc: bool = False) -> DataFrame:
    """Return the rows of both sides in one frame; keys of different types are widened."""
    own = [F.col(f"`{name}`") for name in left.columns if not name.startswith(HIDDEN)]
    labels = [LABEL] if is_changelog(left) else []
    rows = with_time(left).select(*own, *_common_columns(left, [key for key, _ in node.on]), *labels)
    partners = with_time(right)
    partners = partners.select(
        F.struct(*_right_columns(partners, cdc=cdc)).alias(_ROW),
        *_common_columns(partners, [key for _, key in node.on]),
        *_labels(partners, cdc=cdc),
    )
    return rows.unionByName(partners, allowMissingColumns=True)


def _right_columns(frame: DataFrame, *, cdc: bool) -> list[Column]:
    omitted = {CHANGE} if cdc or is_changelog(frame) else set()
    names = [name for name in frame.columns if not name.startswith(HIDDEN) and name not in omitted]
    return [*(F.col(f"`{name}`").alias(f"{_PREFIX}{name}") for name in names), F.col(TIME)]


def _common_columns(frame: DataFrame, on: Sequence[str]) -> list[Column]:
    """Return the keys, the time and the arrival order."""
    keys = [F.col(f"`{key}`").alias(name) for key, name in zip(on, key_names(len(on)), strict=True)]
    return [
        *keys,
        *(F.col(name) for name in (TIME, POSITION, AHEAD) if name in frame.columns or name == TIME),
    ]


def _labels(frame: DataFrame, *, cdc: bool) -> list[Column]:
    if cdc:
        return [F.expr(CDC_DELETE).alias(_DELETED)]
    if is_changelog(frame):
        return [F.col(LABEL).alias(_LABEL)]
    return [F.col(name) for name in (_DELETED, "__sequence") if name in frame.columns]


def table_join_output(rows: DataFrame, node: TableJoin) -> DataFrame:
    """Return the results of a join.

    Raises:
        PlanError: a column exists on both sides and the join has no `select`.
    """
    labels = [name for name in (CHANGE, LABEL) if LABEL in rows.columns]
    right = [name for name in rows.columns if name.startswith(_PREFIX)]
    left = [name for name in rows.columns if not name.startswith(HIDDEN) and name not in labels]
    pairs = rows.select(
        F.struct(*(F.col(f"`{name}`") for name in left)).alias(LEFT),
        F.struct(*(F.col(f"`{name}`").alias(name.removeprefix(_PREFIX)) for name in right)).alias(RIGHT),
        *labels,
        TIME,
    )
    if node.omits_right and node.select is None:
        columns = {name: F.col(f"{LEFT}.`{name}`") for name in left}
    else:
        columns = pair_columns(pairs, node, node.on if node.outer_right else ())
    return pairs.select(*(item.alias(name) for name, item in columns.items()), *labels, TIME)
