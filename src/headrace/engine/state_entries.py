"""The entries of one step's state, key by key: what Spark's state reader gives, decoded by the kernel."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.engine.lower import hidden_key
from headrace.plan.nodes import Distinct

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from headrace.plan.nodes import Node

WINDOWS, WAITING, KEPT, VALUES = "windows", "waiting", "kept", "values"
_WHOLE = {"ignoreNullFields": "false"}
_HIDDEN_KEY = hidden_key("")


@dataclass(frozen=True)
class Found:
    """What was found: how much of each kind there is, and some keys with all of theirs."""

    keys: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    entries: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class StateFiles:
    """The state of one query as frames."""

    spark: SparkSession
    checkpoint: Path

    def frame(self, variable: str | None = None) -> DataFrame:
        """All entries of a state variable; of Spark's own operator where none is named."""
        reader = self.spark.read.format("statestore").option("path", str(self.checkpoint / "spark"))
        return (reader.option("stateVarName", variable) if variable else reader).load()


def entries_of(files: StateFiles, node: Node, trunk: DataFrame, *, key: str | None, limit: int) -> Found:
    """What the state of a step holds.

    Args:
        files: its query's state.
        node: the step.
        trunk: its query's plan, which knows the layout.
        key: only this key: its columns' values, with commas between.
        limit: so many keys are given at most; all are counted.
    """
    parts = _parts(files, node, trunk)
    if key is not None:
        parts = [(kind, frame.where(_said(frame) == key)) for kind, frame in parts]
    united = _united(parts).persist()
    try:
        counts = {row["kind"]: row["count"] for row in united.groupBy("kind").count().collect()}
        keyed = united.groupBy("key")
        some = keyed.agg(F.collect_list(F.struct("kind", "entry")).alias("entries")).orderBy("key")
        found = tuple(_entry(row["key"], row["entries"]) for row in some.limit(limit).collect())
        return Found(united.select("key").distinct().count(), counts, found)
    finally:
        united.unpersist()


def _parts(files: StateFiles, node: Node, trunk: DataFrame) -> list[tuple[str, DataFrame]]:
    """Each kind of entry with its frame: a struct `key`, and columns that are the entry."""
    kernel = files.spark._jvm.org.apache.spark.sql.headrace.windows  # type: ignore[union-attr]
    if isinstance(node, Distinct):
        time = F.timestamp_micros("list_element.value").alias("time")
        return [(KEPT, files.frame(KEPT).select("key", time))]
    if (view := kernel.StateView.of(trunk._jdf)) is None:
        return [_native(files, kernel.NativeView.of(trunk._jdf))]
    stored = files.frame(WINDOWS).select("key", "user_map_value.value")
    parts = [(WINDOWS, DataFrame(view.windows(stored._jdf), files.spark))]
    if view.ordered():
        rows = files.frame(WAITING).select("key", "list_element.value")
        parts.append((WAITING, DataFrame(view.waiting(rows._jdf), files.spark)))
    return parts


def _native(files: StateFiles, view: Any) -> tuple[str, DataFrame]:
    """Spark's own aggregation: evaluated where its buffers are known, else as they are stored."""
    frame = files.frame().select("key", "value")
    schema = frame._jdf.schema().apply("value").dataType()
    if view is not None and view.fits(schema):
        frame = DataFrame(view.values(frame._jdf), files.spark)
    else:
        frame = frame.withColumnRenamed("value", VALUES)
    names = frame.schema["key"].dataType.fieldNames()  # type: ignore[attr-defined]
    window = next((name for name in names if name in ("window", "session_window")), None)
    if window is None:
        return VALUES, frame
    own = F.col("key").dropFields(window) if len(names) > 1 else F.struct()
    bounds = [F.col(f"key.{window}.{edge}").alias(edge) for edge in ("start", "end")]
    return WINDOWS, frame.select(own.alias("key"), *bounds, VALUES)


def _united(parts: Iterable[tuple[str, DataFrame]]) -> DataFrame:
    first, *others = (
        frame.select(
            F.to_json("key", _WHOLE).alias("key"),
            F.lit(kind).alias("kind"),
            F.to_json(F.struct(*(name for name in frame.columns if name != "key")), _WHOLE).alias("entry"),
        )
        for kind, frame in parts
    )
    for other in others:
        first = first.unionAll(other)
    return first


def _said(frame: DataFrame) -> Column:
    names = frame.schema["key"].dataType.fieldNames()  # type: ignore[attr-defined]
    return F.concat_ws(",", *(F.col("key")[name].cast("string") for name in names))


def _entry(key: str, entries: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for kind, entry in entries:
        found.setdefault(kind, []).append(json.loads(entry))
    named = {name.removeprefix(_HIDDEN_KEY): value for name, value in json.loads(key or "{}").items()}
    shown: dict[str, Any] = {kind: sorted(several, key=_order) for kind, several in found.items()}
    if VALUES in shown:
        shown[VALUES] = shown[VALUES][0][VALUES]
    if KEPT in shown:
        shown[KEPT] = [one["time"] for one in shown[KEPT]]
    return {"key": named, **shown}


def _order(entry: dict[str, Any]) -> tuple[str, str]:
    return entry.get("start") or entry.get("time") or "", entry.get("end") or ""
