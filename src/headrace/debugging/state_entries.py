"""Read the state of a step by key, with Spark's state reader and the kernel's decoders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.debugging.dispatch import Describe, load_inspection, state_reader
from headrace.errors import OptionError
from headrace.lowering.code.shipping import ship
from headrace.processors.visit import describe_state
from headrace.rules.log import RuleLog, RuleSet
from headrace.rules.revision import BEFORE
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.code.process import Process
from headrace.steps.expressions import hidden_key
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.stateful.distinct import Distinct

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from headrace.steps.base import Node

WINDOWS, WAITING, KEPT, VALUES, MATCHES = "windows", "waiting", "kept", "values", "matches"
STATE, STORED = "state", "stored"
DUE_BYTES = 16
"""Length of the timers at the start of the state of a processor."""
_STATE_KEY = "__state_key"
_WITH_NULLS = {"ignoreNullFields": "false"}
_HIDDEN_KEY = hidden_key("")
# The gap of native sessions is a microsecond less; see `windows.lower`.
_BOUNDS = {"window": "interval 0 microseconds", "session_window": "interval 1 microsecond"}


@dataclass(frozen=True)
class StoredEntries:
    """Counts of entries by kind, and the entries of some keys."""

    keys: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    entries: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class StateFiles:
    """The state of one query as DataFrames."""

    spark: SparkSession
    checkpoint: Path
    epoch: int | None = None
    """The epoch after which the state is read; None for the last one."""

    def frame(self, variable: str | None = None) -> DataFrame:
        """Return all entries of a state variable; without a name, those of Spark's own operator."""
        reader = self.spark.read.format("statestore").option("path", str(self.checkpoint / "spark"))
        if self.epoch is not None:
            reader = reader.option("batchId", self.epoch)
        return (reader.option("stateVarName", variable) if variable else reader).load()

    def entries(self, variable: str) -> DataFrame:
        """Return the entries of a map variable: key, slot and bytes."""
        slot = F.col("user_map_key.value").alias("slot")
        return self.frame(variable).select("key", slot, "user_map_value.value")


def entries_of(
    files: StateFiles, node: Node, stream_plan: DataFrame, *, key: str | None, limit: int
) -> StoredEntries:
    """Read the state of a step.

    Args:
        files: the state of its query.
        node: the step.
        stream_plan: the streaming plan of its query, which determines the state layout.
        key: read only this key: the values of its columns, separated by commas.
        limit: maximum number of keys; all are counted.
    """
    parts = _parts(files, node, stream_plan)
    if key is not None:
        parts = [(kind, frame.where(_key_text(frame) == key)) for kind, frame in parts]
    union = _union(parts).persist()
    try:
        counts = {row["kind"]: row["count"] for row in union.groupBy("kind").count().collect()}
        keyed = union.groupBy("key")
        by_key = keyed.agg(F.collect_list(F.struct("kind", "entry")).alias("entries")).orderBy("key")
        rows = by_key.limit(limit).collect()
        entries = tuple(_entry(row["key"], node.key_names, row["entries"]) for row in rows)
        return StoredEntries(union.select("key").distinct().count(), counts, entries)
    finally:
        union.unpersist()


def _parts(files: StateFiles, node: Node, stream_plan: DataFrame) -> list[tuple[str, DataFrame]]:
    """Return a frame for each kind of entry, with a struct `key` and the columns of the entry."""
    if isinstance(node, Distinct):
        time = F.timestamp_micros("list_element.value").alias("time")
        return [(KEPT, files.frame(KEPT).select("key", time))]
    if isinstance(node, Process):
        return [(STATE, _worker_state(files, describe_state))]
    load_inspection(node)
    if (describe := state_reader(node)) is not None:
        return [(STATE, _worker_state(files, describe))]
    if isinstance(node, Match | MatchRules | RowPattern):
        return _matches(files, node, stream_plan)
    return _operator_parts(files, node, stream_plan)


def _operator_parts(files: StateFiles, node: Node, stream_plan: DataFrame) -> list[tuple[str, DataFrame]]:
    """Return the frames of a step that the kernel or Spark's own operator runs."""
    classes, plan = kernel(files.spark), java_frame(stream_plan)
    if (view := classes.windows.WindowStateView.of(plan)) is not None:
        return _windows(files, view)
    if variable := classes.operators.keyed.KeyedOperator.variableOf(plan):
        running = classes.tables.RunningAggregateView.of(plan)
        return [_table(files, variable, running)]
    return [_native(files, classes.windows.NativeAggregateView.of(plan), node.key_names)]


def _windows(files: StateFiles, view: Any) -> list[tuple[str, DataFrame]]:
    """Return open windows and buffered rows."""
    stored = java_frame(files.entries(WINDOWS))
    parts = [(WINDOWS, DataFrame(view.windows(stored), files.spark))]
    if view.ordered():
        parts.append((WAITING, DataFrame(view.waiting(stored), files.spark)))
    return parts


def _table(files: StateFiles, variable: str, running: Any) -> tuple[str, DataFrame]:
    """Return the rows of a running aggregate, or the size of the state of another table or a join."""
    if running is None:
        return STORED, _stored_bytes(files, variable)
    return VALUES, DataFrame(running.values(java_frame(files.entries(variable))), files.spark)


def _stored_bytes(files: StateFiles, variable: str) -> DataFrame:
    """Return the size of the state of a join or a table by key."""
    grouped = files.entries(variable).groupBy("key")
    return grouped.agg(F.count("*").alias("entries"), F.sum(F.length("value")).alias("bytes"))


def table_frame(files: StateFiles, node: Node, stream_plan: DataFrame) -> DataFrame:
    """Return the rows of a table, or the open windows of a windowed step with their results so far.

    The hidden column `__state_key` has the key of each row.
    """
    classes, plan = kernel(files.spark), java_frame(stream_plan)
    key = F.col("key").alias(_STATE_KEY)
    if (table := classes.tables.TableView.of(plan)) is not None:
        rows = _table_rows(files, table)
        names = [name.removeprefix(_HIDDEN_KEY) for name in _fields(rows, "row")]
        columns = (F.col("row")[old].alias(new) for old, new in zip(_fields(rows, "row"), names, strict=True))
        return rows.select(key, *columns)
    parts = dict(_parts(files, node, stream_plan))
    frame = parts.get(WINDOWS, parts.get(VALUES))
    if frame is None:
        raise OptionError("its state has no rows of a table", where=f"`{node.name}`")
    keys = [
        F.col("key")[stored].alias(name)
        for stored, name in zip(_fields(frame, "key"), node.key_names, strict=True)
    ]
    window = [F.struct("start", "end").alias("window")] if WINDOWS in parts else []
    if "closed" in frame.columns:
        frame = frame.where("not closed")
    return frame.select(key, *keys, *window, f"{VALUES}.*")


def _table_rows(files: StateFiles, view: Any) -> DataFrame:
    """Return the rows of a table with their keys."""
    variable = "table"
    return DataFrame(view.rows(java_frame(files.entries(variable))), files.spark)


def _worker_state(files: StateFiles, describe: Describe) -> DataFrame:
    """Return the state of a processor, or of a step that learns, as JSON text."""
    decode = F.udf(ship(lambda stored: describe(bytes(stored)[DUE_BYTES:]), None, ""), "string")
    return files.entries(STATE).select("key", decode("value").alias(STATE))


def _matches(
    files: StateFiles, node: Match | MatchRules | RowPattern, stream_plan: DataFrame
) -> list[tuple[str, DataFrame]]:
    """Return partial matches and buffered rows."""
    stored = files.entries(MATCHES)
    if isinstance(node, Match):
        view = kernel(files.spark).patterns.MatchView.of(java_frame(stream_plan))
        searches = view.partials(java_frame(stored))
    elif isinstance(node, MatchRules):
        view = kernel(files.spark).rules.RulesView.of(java_frame(stream_plan))
        rule_set = RuleLog(files.checkpoint).last or RuleSet(BEFORE)
        searches = view.partials(java_frame(stored), rule_set.as_json)
    else:
        view = kernel(files.spark).matchrecognize.RowPatternView.of(java_frame(stream_plan))
        searches = view.searches(java_frame(stored))
    return [
        (MATCHES, DataFrame(searches, files.spark)),
        (WAITING, DataFrame(view.waiting(java_frame(stored)), files.spark)),
    ]


def _native(files: StateFiles, view: Any, names: Sequence[str]) -> tuple[str, DataFrame]:
    """Return the state of Spark's own aggregation: results if they can be computed, otherwise the buffers."""
    frame = _with_session_in_key(files.frame().select("key", "value"))
    if view is not None and view.fits(java_frame(frame).schema().apply("value").dataType()):
        frame = DataFrame(view.values(java_frame(frame)), files.spark)
    else:
        frame = frame.withColumnRenamed("value", VALUES)
    fields = _fields(frame, "key")
    window = next((name for name in fields if name in _BOUNDS), None)
    own = [name for name in fields if name != window]
    labels = names if len(names) == len(own) else own  # Spark generates names for computed keys
    key = F.struct(*(F.col("key")[name].alias(label) for name, label in zip(own, labels, strict=True)))
    if window is None:
        return VALUES, frame.select(key.alias("key"), VALUES)
    start, end = (F.col("key")[window][edge] for edge in ("start", "end"))
    end = end + F.expr(_BOUNDS[window])
    return WINDOWS, frame.select(key.alias("key"), start.alias("start"), end.alias("end"), VALUES)


def _with_session_in_key(frame: DataFrame) -> DataFrame:
    """Move the session into the key; Spark stores key, session and buffers as one value, by position."""
    fields = _fields(frame, "value")
    if "session_window" not in fields:
        return frame
    at = fields.index("session_window")
    flat = frame.select("value.*").toDF(*(f"c{index}" for index in range(len(fields))))
    columns = [F.col(f"c{index}").alias(name) for index, name in enumerate(fields)]
    key, buffers = columns[: at + 1], columns[at + 1 :]
    return flat.select(F.struct(*key).alias("key"), F.struct(*buffers).alias("value"))


def _union(parts: Iterable[tuple[str, DataFrame]]) -> DataFrame:
    first, *others = (
        frame.select(
            F.to_json("key", _WITH_NULLS).alias("key"),
            F.lit(kind).alias("kind"),
            F.to_json(F.struct(*(name for name in frame.columns if name != "key")), _WITH_NULLS).alias(
                "entry"
            ),
        )
        for kind, frame in parts
    )
    for other in others:
        first = first.unionAll(other)
    return first


def key_text(frame: DataFrame) -> Column:
    """Return the key of a row of `table_frame` as text: the values of its columns, separated by commas."""
    names = _fields(frame, _STATE_KEY)
    return F.concat_ws(",", *(F.col(_STATE_KEY)[name].cast("string") for name in names))


def without_key(frame: DataFrame) -> DataFrame:
    """Return the rows of `table_frame` without their hidden key."""
    return frame.drop(_STATE_KEY)


def _key_text(frame: DataFrame) -> Column:
    return F.concat_ws(",", *(F.col("key")[name].cast("string") for name in _fields(frame, "key")))


def _fields(frame: DataFrame, column: str) -> list[str]:
    """Return the field names of a struct column."""
    return list(frame.schema[column].dataType.fieldNames())  # type: ignore[attr-defined]


def _entry(key: str, names: Sequence[str], entries: Iterable[Any]) -> dict[str, Any]:
    """Return the entries of a key by kind; key columns have the names of the step."""
    stored = json.loads(key or "{}")
    if len(names) != len(stored):
        names = [name.removeprefix(_HIDDEN_KEY) for name in stored]
    by_kind: dict[str, list[Any]] = {}
    for kind, entry in entries:
        by_kind.setdefault(kind, []).append(json.loads(entry))
    result: dict[str, Any] = {kind: sorted(several, key=_order) for kind, several in by_kind.items()}
    if VALUES in result:
        result[VALUES] = result[VALUES][0][VALUES]
    if STORED in result:
        result[STORED] = result[STORED][0]
    if STATE in result:
        result[STATE] = json.loads(result[STATE][0][STATE])
    if KEPT in result:
        result[KEPT] = [entry["time"] for entry in result[KEPT]]
    return {"key": dict(zip(names, stored.values(), strict=True)), **result}


def _order(entry: dict[str, Any]) -> tuple[str, str]:
    return entry.get("start") or entry.get("time") or "", entry.get("end") or ""
