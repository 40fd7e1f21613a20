"""One step with a pattern asked about one key: its entry in the checkpoint, its rows in the input, and the kernel's answer."""

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
from headrace.checkpoints.layout import checkpoint_of, progress_of
from headrace.debugging.replay import CantBeReadAgain, read_again
from headrace.debugging.state_entries import MATCHES, StateFiles
from headrace.lowering.patterns import GIVEN, Declared
from headrace.spark.gateway import java_frame, java_list, kernel
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.plan.graph import Graph
    from headrace.runtime.queries import PlannedQuery

_END = 253_370_764_800_000_000
_NONE = -(2**63)
_KEYS_LOOKED_AT = 1000
NOT_READ = "the input was not read again (--no-input)"


@dataclass(frozen=True)
class Told:
    """What one pattern makes of a key."""

    known: bool = True
    """Whether the checkpoint or the input has the key."""
    partials: tuple[dict[str, Any], ...] = ()
    """Partial matches of the checkpoint: their rows, what each waits for, and when it times out."""
    waiting: tuple[dict[str, Any], ...] = ()
    """Rows that wait for the watermark, and what they would do if it passed them now."""
    rows: tuple[dict[str, Any], ...] = ()
    """The last rows of the key that were taken, with the conditions asked of them and what came of it."""
    after: tuple[dict[str, Any], ...] = ()
    """Matches and timeouts that no row brought, but the watermark."""
    unread: tuple[dict[str, Any], ...] = ()
    """Rows of the input ahead of the watermark that the checkpoint doesn't have; those that make no difference need not be there."""
    taken: int | None = None
    """How many rows of the key have been taken in all; None where the input can't be read again."""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
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
    """One step asked about one key."""

    spark: SparkSession
    graph: Graph
    directory: Path
    query: PlannedQuery
    key: dict[str, str]
    _given: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.node: Any = self.graph[self.query.query.output.step]
        self.checkpoint = checkpoint_of(self.directory, self.query.query)
        self.progress = progress_of(self.checkpoint)
        self.files = StateFiles(self.spark, self.checkpoint)
        self.jvm = kernel(self.spark)
        self._frame: DataFrame | None = None

    def answer(self, rows: int, *, read_input: bool) -> Told:
        """All that can be told of a step with a pattern of its own."""
        trunk = java_frame(self.query.stream_plan)
        if isinstance(self.node, RowPattern):
            return self.ask(
                self.jvm.matchrecognize.RowPatternExplainer.of(trunk), rows, read_input=read_input
            )
        self._given = {name: _said(given) for name, given in Declared(self.node, ()).columns.items()}
        return self.ask(self.jvm.patterns.MatchExplainer.of(trunk), rows, read_input=read_input)

    def ask(self, kernel: Any, rows: int, *, read_input: bool, less: Column | None = None) -> Told:
        """What one pattern, which the kernel looks at, makes of the key; `less` are rows that it never saw."""
        stored, pieces = self._state
        partials = self._read(kernel.partials(stored))
        waits = self._read(kernel.waiting(stored, pieces))
        told = Told(stored is not None or bool(waits), tuple(partials), tuple(waits))
        if not read_input:
            return replace(told, known=True, notes=(NOT_READ,))
        try:
            return self._with_history(kernel, told, rows, less)
        except CantBeReadAgain as reason:
            return replace(
                told, notes=(f"rows that are no longer in the checkpoint can't be told of: {reason}",)
            )

    def _with_history(self, kernel: Any, told: Told, rows: int, less: Column | None) -> Told:
        frame = self._rows(kernel)
        with CantBeReadAgain.for_sparks_errors():
            own = frame if less is None else frame.where(~less)
            said = self._read(kernel.history(java_frame(own), self._watermark(), rows))
        unread = _without(said["ahead"], told.waiting)
        notes = []
        if _shape(said["partials"]) != _shape(told.partials):
            notes.append(
                "the input, read again, leads to other partial matches than the checkpoint has: rows came late, "
                "or the input has changed. What is told of rows is by the input"
            )
        return replace(
            told,
            known=told.known or bool(said["count"] or unread),
            rows=tuple(said["rows"]),
            after=tuple(said["after"]),
            unread=tuple(unread),
            taken=said["count"],
            notes=tuple(notes),
        )

    def close(self) -> None:
        """Let go of the key's rows."""
        if self._frame is not None:
            self._frame.unpersist()

    def keys_at_hand(self) -> set[str]:
        """Some keys of the checkpoint and of the input."""
        frames = [] if self.progress.epoch is None else [self.files.entries(MATCHES).select("key.*")]
        with suppress(CantBeReadAgain), CantBeReadAgain.for_sparks_errors():
            frames.append(self._input().select(*(f"`{name}`" for name in self._names())))
            return {key for frame in frames for key in _some(frame)}
        return {key for frame in frames[:1] for key in _some(frame)}

    def _names(self) -> list[str]:
        """The key's columns inside the step, where one that is computed has another name."""
        from headrace.lowering.lowering import hidden_key

        if isinstance(self.node, RowPattern):
            return list(self.key)
        return [name if key == name else hidden_key(name) for name, key in self.node.keys]

    def _inside(self) -> dict[str, str]:
        return dict(zip(self._names(), self.key.values(), strict=True))

    @cached_property
    def _state(self) -> tuple[bytes | None, Any]:
        """The key's own entry, and the pieces of older rows that wait, in order."""
        pieces = java_list(self.spark, ())
        if self.progress.epoch is None:
            return None, pieces
        entries = self.files.entries(MATCHES)
        own = entries.where(is_key(self._inside(), entries.schema["key"].dataType, "key"))  # type: ignore[arg-type]
        found = {row["slot"]: bytes(row["value"]) for row in own.select("slot", "value").collect()}
        for slot in sorted(found.keys() - {0}):
            pieces.add(found[slot])
        return found.get(0), pieces

    def _input(self) -> DataFrame:
        return read_again(self.spark, self.graph, self.query.query, self.directory)

    def _rows(self, kernel: Any) -> DataFrame:
        """The key's rows in order, with the columns that the kernel wants; read once, whoever asks."""
        from pyspark.sql import functions as F  # noqa: N812

        from headrace.lowering.expressions import POSITION, TIME

        if self._frame is None:
            frame = self._input()
            own = frame.where(is_key(self._inside(), frame.schema))
            by_arrival = isinstance(self.node, Match | MatchRules) and self.node.order == "arrival"
            order = [name for name in (*(() if by_arrival else (TIME,)), POSITION) if name in frame.columns]
            wanted = [
                F.col(f"`{name}`") if name in own.columns else F.lit(None).alias(name)
                for name in kernel.columns()
            ]
            self._frame = own.orderBy(*order).select(*wanted).persist()
        return self._frame

    def _watermark(self) -> int:
        said = self.progress.watermark
        if said is None:
            return _NONE
        if said == "end":
            return _END
        return round(datetime.fromisoformat(said).timestamp() * 1000) * 1000

    def _read(self, text: str) -> Any:
        """What the kernel says, with conditions as the user wrote them."""
        told = json.loads(re.sub(rf"{GIVEN}\d+", lambda found: json.dumps(self._given[found[0]])[1:-1], text))
        if isinstance(self.node, RowPattern):
            _with_conditions(told, {name: text.text for name, text in self.node.clause.define})
        return told


def _with_conditions(told: Any, defined: Mapping[str, str]) -> None:
    """Put the DEFINE of each variable where the kernel names it."""
    for one in told if isinstance(told, list) else [*told["rows"], *told["partials"]]:
        tests = [test for asked in one.get("asked", ()) for test in asked["tests"]]
        for named in (*tests, *one.get("waits_for", ())):
            named["condition"] = defined.get(named["step"])


def _said(column: Any) -> str:
    return re.sub(r"^Column<'(.*)'>$", r"\1", str(column), flags=re.DOTALL)


def _shape(partials: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(json.dumps([one["complete"], one["rows"]], sort_keys=True) for one in partials)


def _without(rows: Iterable[dict[str, Any]], known: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows less those that are known, each once."""
    rest = [(one["time"], one["row"]) for one in known]
    left = []
    for row in rows:
        if (row["time"], row["row"]) in rest:
            rest.remove((row["time"], row["row"]))
        else:
            left.append(row)
    return left


def _some(frame: DataFrame) -> list[str]:
    rows = frame.distinct().limit(_KEYS_LOOKED_AT).collect()
    return [",".join(NULL if value is None else str(value) for value in row) for row in rows]
