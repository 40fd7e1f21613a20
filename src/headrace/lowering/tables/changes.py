"""Changelogs as DataFrames: the label of each row, and the net changes of a micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.connectors.base import DELETED
from headrace.lowering.expressions import HIDDEN, REFINED, drop_hidden
from headrace.steps.facts import CHANGE
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.updates import needs_old_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.connectors.base import WriteMode
    from headrace.lowering.lowering import Lowering
    from headrace.steps.base import Node, Ref

LABEL = f"{HIDDEN}change"
"""The label of a row of a changelog; it is kept if the user drops `change`."""
PANE_LABEL = f"{HIDDEN}pane_change"
"""The label of a pane in retracting mode, for stateful steps; sinks read `pane.retraction`."""
PRESENT = f"{HIDDEN}present"
"""The number of rows of a pane over a changelog."""


def is_changelog(frame: DataFrame) -> bool:
    """Return True if the rows of a frame are changes."""
    return LABEL in frame.columns


def removes() -> Column:
    """Return a condition that is true if a row removes an earlier one; a row without a label is an insert."""
    return F.coalesce(F.col(LABEL).isin("update_before", "delete"), F.lit(False))


def new_rows(node: Node, ref: Ref, lowering: Lowering) -> DataFrame:
    """Return the rows of an input; of a running aggregate without the old rows that no later step reads.

    Functions and lookups process the others too, so that sinks delete keys; a SQL query of Spark reads none.
    """
    frame, graph = lowering.frame(ref), lowering.graph
    if not graph.facts(ref).keyed or not is_changelog(frame):
        return frame
    if isinstance(node, Sql):
        return frame.where(~removes()).drop(LABEL)
    return frame if needs_old_rows(graph, node) else frame.where(~removes())


def label_panes(panes: DataFrame, mode: str) -> DataFrame:
    """Return the panes of a window that fires more than once, with the label that stateful steps read.

    A pane over a changelog whose rows have all been removed is left out; in accumulating mode, sinks receive
    it if they have received an earlier pane.

    Args:
        panes: the panes of the kernel.
        mode: `retracting`; `refined` for accumulating panes that the kernel retracts; others have no label.
    """
    change = F.when(F.col("pane.retraction"), "update_before").otherwise("update_after")
    if PRESENT in panes.columns:
        empty = F.col(PRESENT) == 0
        shown_empty = ~F.col("pane.retraction") & (F.col("pane.index") > 0)
        if mode == "retracting":
            panes = panes.where(~empty)
        elif mode == "refined":
            change = F.when(empty, F.when(shown_empty, "empty").otherwise("")).otherwise(change)
        else:
            panes = panes.where(~empty | shown_empty)
        panes = panes.drop(PRESENT)
    names = {"retracting": PANE_LABEL, "refined": REFINED}
    return panes.withColumn(names[mode], change) if mode in names else panes


def as_changes(frame: DataFrame) -> DataFrame:
    """Return panes as a changelog for a stateful step: a retraction removes the pane that it repeats."""
    name = next((label for label in (PANE_LABEL, REFINED) if label in frame.columns), None)
    if name is None:
        return frame
    rows = frame.where(F.col(name).isin("update_before", "update_after")).withColumnRenamed(name, LABEL)
    if "pane" in rows.columns:
        rows = rows.withColumn("pane", F.col("pane").withField("retraction", F.lit(False)))
    return rows


def net_changes(frame: DataFrame) -> DataFrame:
    """Return the rows that the changes of a frame add (`__sign` 1) or remove (-1), without `change`.

    Rows that are added and removed again cancel each other.
    """
    rows = drop_hidden(frame).drop(CHANGE).columns
    names = [f"`{name}`" for name in rows]
    sign = F.when(removes(), F.lit(-1)).otherwise(F.lit(1))
    grouped = frame.groupBy(*names).agg(F.sum(sign).alias("__count"))
    return grouped.where("`__count` <> 0").withColumn("__sign", F.signum("__count")).drop("__count")


def upserts(frame: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return one row per changed key, its new row or its last one with `__deleted`, in any order."""
    changes = net_changes(frame)
    names = [name for name in changes.columns if name != "__sign"]
    row = F.struct(*(F.col(f"`{name}`") for name in names))
    last = F.max_by(F.struct(row.alias("row"), F.col("__sign")), F.col("__sign")).alias("__last")
    rows = changes.groupBy(*(f"`{name}`" for name in key)).agg(last).select("__last.row.*", "__last.__sign")
    return rows.withColumn(DELETED, F.col("__sign") < 0).drop("__sign")


def for_sink(frame: DataFrame, key: Sequence[str], mode: WriteMode, *, grows: bool = False) -> DataFrame:
    """Return the rows that a sink writes: upserts if it applies changes by key, otherwise changes as rows.

    In mode `update` a sink without a key receives the new row of each changed key, otherwise every change. A
    sink reports a key column that does not exist.

    Args:
        frame: the rows of an epoch.
        key: the columns by which the sink replaces rows; empty if it appends them.
        mode: the mode of the sink.
        grows: True if the changes replace rows of these keys and remove none.
    """
    if not is_changelog(frame):
        return drop_hidden(frame)
    if key and set(key) <= set(frame.columns):
        if grows:
            return drop_hidden(frame.where(~removes())).withColumn(DELETED, F.lit(False))
        return upserts(frame, key)
    if mode == "update":
        return drop_hidden(frame.where(~removes()))
    return drop_hidden(
        frame
        if CHANGE in frame.columns
        else frame.withColumn(CHANGE, F.coalesce(F.col(LABEL), F.lit("insert")))
    )
