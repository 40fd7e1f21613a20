"""Event time columns: invalid values, and rows too far ahead of the clock."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.expressions import TIME, column
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AHEAD = "__ahead"
"""True for rows further ahead of the clock than `max_ahead`; their `__ts` is null."""
WATERMARK_TIME = "__wm"
"""The event time of rows that advance the watermark; null for other rows."""
_YEARS = "between timestamp'0001-01-01 00:00:00' and timestamp'9999-12-31 23:59:59.999999'"


def check_event_time(frame: DataFrame, node: EventTime | ClockTime) -> DataFrame:
    """Replace event times outside the years 1 to 9999 by null; mark rows beyond `max_ahead`."""
    if isinstance(node, ClockTime):
        return frame
    time = f"`{node.column}`"
    frame = frame.withColumn(node.column, F.expr(f"case when {time} {_YEARS} then {time} end"))
    if node.max_ahead is None:
        return frame
    limit = f"current_timestamp() + interval '{node.max_ahead}' microsecond"
    return frame.withColumn(AHEAD, F.expr(f"coalesce({time} > {limit}, false)"))


def add_watermark_time(frame: DataFrame, node: EventTime | ClockTime) -> tuple[DataFrame, str]:
    """Return the frame and the column of the watermark; a separate column if not all rows advance it."""
    conditions: list[Column] = []
    if isinstance(node, EventTime) and node.watermark_when is not None:
        conditions.append(column(node.watermark_when))
    if AHEAD in frame.columns:
        conditions.append(~F.col(AHEAD))
    if not conditions:
        return frame, node.column
    advances = reduce(and_, conditions)
    return frame.withColumn(WATERMARK_TIME, F.when(advances, F.col(f"`{node.column}`"))), WATERMARK_TIME


def set_time(frame: DataFrame, node: EventTime | ClockTime) -> DataFrame:
    """Copy the node's column to `__ts`, null for rows too far ahead of the clock."""
    time = F.col(f"`{node.column}`")
    valid = F.when(~F.col(AHEAD), time) if AHEAD in frame.columns else time
    return frame.withColumn(TIME, valid).drop(WATERMARK_TIME)
