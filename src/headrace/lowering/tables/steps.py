"""Lower table steps to the kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.expressions import TIME, column
from headrace.lowering.keyed_steps import run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.facts import CHANGE

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.lowering.counts import Counts
    from headrace.steps.facts import Facts
    from headrace.steps.tables.latest import Latest
    from headrace.steps.tables.top_n import TopN

CDC_DELETE = "change.op = 'delete'"


def step_time(facts: Facts) -> str:
    """Return the time of a step for the kernel: `event`, `clock` or `none`."""
    return facts.time if facts.timed else "none"


def latest_rows(
    frame: DataFrame, keys: Sequence[str], node: Latest, facts: Facts, *, versions: bool, counts: Counts
) -> DataFrame:
    """Return the tagged rows of `latest`: `main`, `late` and, if a step reads them, `versions`."""
    deletes = column(node.delete_when) if node.delete_when is not None else None
    if facts.cdc:
        deletes = F.expr(CDC_DELETE) if deletes is None else F.expr(CDC_DELETE) | deletes
    ready = with_time(frame if deletes is None else frame.withColumn("__delete", deletes))
    if facts.cdc:
        ready = ready.drop(CHANGE)
    declared = _declare(keys, facts, ttl=node.ttl or 0, by_arrival=node.by_arrival(facts), versions=versions)
    return run_step(ready, kernel(frame.sparkSession).tables.LatestStep, declared, counts)


def top_rows(frame: DataFrame, keys: Sequence[str], node: TopN, facts: Facts, *, counts: Counts) -> DataFrame:
    """Return the tagged rows of `top_n`."""
    orders = {f"__order{i}": F.expr(expression) for i, (expression, _) in enumerate(node.orders)}
    directions = [direction for _, direction in node.orders]
    declared = _declare(keys, facts, n=node.n, order=directions, ties=node.ties)
    ready = with_time(frame).withColumns(orders)
    return run_step(ready, kernel(frame.sparkSession).tables.TopNStep, declared, counts)


def running_rows(
    frame: DataFrame, keys: Sequence[str], aggregates: Sequence[Column], *, both: bool, counts: Counts
) -> DataFrame:
    """Return the tagged rows of a running aggregate.

    Args:
        frame: the input.
        keys: the key columns.
        aggregates: the named aggregates.
        both: True to emit the old row of a changed key, too.
        counts: the row counters.
    """
    ready = with_time(frame)
    return run_keyed_step(ready, running_step(ready, keys, aggregates, both=both), counts)


def complete_rows(frame: DataFrame, keys: Sequence[Column], aggregates: Sequence[Column]) -> DataFrame:
    """Return the rows of all keys of a running aggregate over a changelog, for sinks in complete mode."""
    grouped = frame.groupBy(*keys).agg(*aggregates)
    spark = frame.sparkSession
    return DataFrame(kernel(spark).tables.CompleteAggregate.apply(java_frame(grouped)), spark)


def running_step(
    frame: DataFrame, keys: Sequence[str], aggregates: Sequence[Column], *, both: bool = True
) -> Any:
    """Return the kernel's step of a running aggregate over rows with `__ts`."""
    grouped = frame.groupBy(*(f"`{key}`" for key in keys)).agg(*aggregates)
    declared = json.dumps({"keys": list(keys), "time": "none", "both": both})
    kind = kernel(frame.sparkSession).tables.RunningAggregateStep
    return kind.apply(java_frame(frame), java_frame(grouped), declared)


def run_step(frame: DataFrame, kind: Any, declared: str, counts: Counts) -> DataFrame:
    """Return the tagged rows of a kind of table step."""
    return run_keyed_step(frame, kind.apply(java_frame(frame), declared), counts)


def with_time(frame: DataFrame) -> DataFrame:
    """Return the frame with `__ts`, null if its rows have no time."""
    return frame if TIME in frame.columns else frame.withColumn(TIME, F.lit(None).cast("timestamp"))


def _declare(keys: Sequence[str], facts: Facts, **options: Any) -> str:
    return json.dumps({"keys": list(keys), "time": step_time(facts), **options})
