"""Report on one key of a pattern: its state in the checkpoint and its rows in the input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.keys import NULL, is_key
from headrace.checkpoints.layout import END_MS, checkpoint_of, progress_of
from headrace.debugging.replay import NotReplayable, replay_input
from headrace.debugging.state_entries import MATCHES, StateFiles
from headrace.spark.gateway import java_frame, java_list, kernel
from headrace.steps.patterns.declaration import COLUMN_PREFIX, PatternDeclaration
from headrace.steps.patterns.match_recognize import RowPattern

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.runtime.queries.planner import PlannedQuery

_NO_WATERMARK = -(2**63)
_MAX_KEYS = 1000
NOT_READ = "the input was not replayed (--no-input)"


@dataclass(frozen=True)
class KeyReport:
    """The report of one pattern on a key."""

    known: bool = True
    """True if the checkpoint or the input has the key."""
    partials: tuple[dict[str, Any], ...] = ()
    """Partial matches in the checkpoint: rows, next steps and timeouts."""
    waiting: tuple[dict[str, Any], ...] = ()
    """Buffered rows, and the effect that they will have when the watermark passes them."""
    rows: tuple[dict[str, Any], ...] = ()
    """The last processed rows of the key, with the tested conditions and their results."""
    after: tuple[dict[str, Any], ...] = ()
    """Matches and timeouts caused by the watermark."""
    unread: tuple[dict[str, Any], ...] = ()
    """Input rows ahead of the watermark that are not in the checkpoint: unread, or stored by no state."""
    taken: int | None = None
    """The number of processed rows of the key; None if the input cannot be replayed."""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "partial_matches": list(self.partials),
            "waiting": list(self.waiting),
            "rows_taken": self.taken,
            "rows": list(self.rows),
            "after": list(self.after),
            "unread": list(self.unread),
            "notes": list(self.notes),
        }


@dataclass
class Inquiry:
    """Examines one key of one step."""

    spark: SparkSession
    graph: Graph
    directory: Path
    query: PlannedQuery
    key: dict[str, str]
    _conditions: dict[str, str] = field(default_factory=dict)
    """The conditions as the user wrote them, by the name of their computed column."""

    def __post_init__(self) -> None:
        self.node: Any = self.graph[self.query.query.output.step]
        self.checkpoint = checkpoint_of(self.directory, self.query.query)
        self.progress = progress_of(self.checkpoint)
        self.files = StateFiles(self.spark, self.checkpoint)
        self.jvm = kernel(self.spark)
        self._frame: DataFrame | None = None

    def report_step(self, rows: int, *, read_input: bool) -> KeyReport:
        """Return the report of a step that declares its pattern."""
        plan = java_frame(self.query.stream_plan)
        if isinstance(self.node, RowPattern):
            explainer = self.jvm.matchrecognize.RowPatternExplainer.of(plan)
        else:
            self._conditions = {
                name: _column_text(expression)
                for name, expression in PatternDeclaration(self.node, ()).columns.items()
            }
            explainer = self.jvm.patterns.MatchExplainer.of(plan)
        return self.report(explainer, rows, read_input=read_input)

    def report(
        self, explainer: Any, rows: int, *, read_input: bool, exclude: Column | None = None
    ) -> KeyReport:
        """Return the report of one pattern; `exclude` selects rows that it never processed."""
        stored, chunks = self._state
        partials = self._read(explainer.partials(stored))
        waiting = self._read(explainer.waiting(stored, chunks))
        report = KeyReport(stored is not None or bool(waiting), tuple(partials), tuple(waiting))
        if not read_input:
            return replace(report, known=True, notes=(NOT_READ,))
        try:
            return self._with_history(explainer, report, rows, exclude)
        except NotReplayable as reason:
            return replace(
                report, notes=(f"rows that are no longer in the checkpoint are not shown: {reason}",)
            )

    def _with_history(
        self, explainer: Any, report: KeyReport, rows: int, exclude: Column | None
    ) -> KeyReport:
        frame = self._rows(explainer)
        with NotReplayable.wrap_spark_errors():
            processed = frame if exclude is None else frame.where(~exclude)
            history = self._read(explainer.history(java_frame(processed), self._watermark(), rows))
        unread = _subtract(history["ahead"], report.waiting)
        notes = []
        if _shape(history["partials"]) != _shape(report.partials):
            notes.append(
                "the partial matches of the replayed input differ from the checkpoint: rows were late, or "
                "the input has changed. Rows are shown as in the input"
            )
        return replace(
            report,
            known=report.known or bool(history["count"] or unread),
            rows=tuple(history["rows"]),
            after=tuple(history["after"]),
            unread=tuple(unread),
            taken=history["count"],
            notes=tuple(notes),
        )

    def close(self) -> None:
        """Release the rows of the key."""
        if self._frame is not None:
            self._frame.unpersist()

    def sample_keys(self) -> set[str]:
        """Return some keys of the checkpoint and the input."""
        stored = [] if self.progress.epoch is None else [self.files.entries(self.node.state_variable)]
        frames = [frame.select("key.*") for frame in stored]
        with suppress(NotReplayable), NotReplayable.wrap_spark_errors():
            frames.append(self._input().select(*(f"`{name}`" for name in self._names())))
            return {key for frame in frames for key in _sample_keys(frame)}
        return {key for frame in frames[:1] for key in _sample_keys(frame)}

    def _names(self) -> list[str]:
        """Return the names of the key columns in the frame of the step; computed keys have hidden names."""
        from headrace.steps.expressions import hidden_key

        if isinstance(self.node, RowPattern):
            return list(self.key)
        return [name if key == name else hidden_key(name) for name, key in self.node.keys]

    @cached_property
    def _state(self) -> tuple[bytes | None, Any]:
        """Return the entry of the key and the chunks of older buffered rows, in order."""
        chunks = java_list(self.spark, ())
        if self.progress.epoch is None:
            return None, chunks
        entries = self.files.entries(MATCHES)
        schema: Any = entries.schema["key"].dataType
        # A step without a key has a constant key in its state, hence strict=False.
        key = dict(zip(schema.names, self.key.values(), strict=False))
        own = entries.where(is_key(key, schema, "key"))
        slots = {row["slot"]: bytes(row["value"]) for row in own.select("slot", "value").collect()}
        for slot in sorted(slots.keys() - {0}):
            chunks.add(slots[slot])
        return slots.get(0), chunks

    def _input(self) -> DataFrame:
        return replay_input(self.spark, self.graph, self.query.query, self.directory)

    def _rows(self, explainer: Any) -> DataFrame:
        """Return the rows of the key in order, with the columns that the kernel needs; read once."""
        from pyspark.sql import functions as F  # noqa: N812

        from headrace.lowering.expressions import POSITION, TIME, spelled_name

        if self._frame is None:
            frame = self._input()
            values = zip(self._names(), self.key.values(), strict=True)
            key = {spelled_name(frame, name): value for name, value in values}
            own = frame.where(is_key(key, frame.schema))
            by_arrival = getattr(self.node, "order", "") == "arrival"
            order = [name for name in (*(() if by_arrival else (TIME,)), POSITION) if name in frame.columns]
            columns = [
                F.col(f"`{name}`") if name in own.columns else F.lit(None).alias(name)
                for name in explainer.columns()
            ]
            self._frame = own.orderBy(*order).select(*columns).persist()
        return self._frame

    def _watermark(self) -> int:
        watermark = self.progress.watermark
        if watermark is None:
            return _NO_WATERMARK
        if watermark == "end":
            return END_MS * 1000
        return round(datetime.fromisoformat(watermark).timestamp() * 1000) * 1000

    def _read(self, text: str) -> Any:
        """Parse the response of the kernel, and insert the conditions as the user wrote them."""
        report = json.loads(
            re.sub(rf"{COLUMN_PREFIX}\d+", lambda match: json.dumps(self._conditions[match[0]])[1:-1], text)
        )
        if isinstance(self.node, RowPattern):
            _add_conditions(report, {name: text.text for name, text in self.node.clause.define})
        return report


def _add_conditions(report: Any, defined: Mapping[str, str]) -> None:
    """Add the DEFINE condition of each variable."""
    for item in report if isinstance(report, list) else [*report["rows"], *report["partials"]]:
        tests = [test for attempt in item.get("attempts", ()) for test in attempt["tests"]]
        for named in (*tests, *item.get("waits_for", ())):
            named["condition"] = defined.get(named["step"])


def _column_text(column: Any) -> str:
    return re.sub(r"^Column<'(.*)'>$", r"\1", str(column), flags=re.DOTALL)


def _shape(partials: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(json.dumps([partial["complete"], partial["rows"]], sort_keys=True) for partial in partials)


def _subtract(rows: Iterable[dict[str, Any]], others: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that are not in `others`; each of those removes one row."""
    to_remove = [(item["time"], item["row"]) for item in others]
    remaining = []
    for row in rows:
        if (row["time"], row["row"]) in to_remove:
            to_remove.remove((row["time"], row["row"]))
        else:
            remaining.append(row)
    return remaining


def _sample_keys(frame: DataFrame) -> list[str]:
    rows = frame.distinct().limit(_MAX_KEYS).collect()
    return [",".join(NULL if value is None else str(value) for value in row) for row in rows]
