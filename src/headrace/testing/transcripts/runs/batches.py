"""Translate script lines to micro-batches for the in-process driver of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.lowering.watermarks import END_OF_TIME_MS
from headrace.schemas.datatypes import Array, DataType, Map, Struct
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import EventTime
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.runs.lines import apply_line
from headrace.testing.transcripts.runs.partitions import PartitionModel
from headrace.testing.transcripts.script import only, schema_of
from headrace.testing.transcripts.values import micros_of_plain


class Batches:
    """Builds the micro-batches of a script."""

    def __init__(self, case: Case) -> None:
        self.content: list[dict[str, Any]] = []
        self._time: EventTime = only(case.graph, EventTime)
        self._schema = schema_of(only(case.graph, Source))
        self._fixed = bool(case.fed)
        self._clock = 0
        self._model = PartitionModel()
        self._reached: int | None = None
        self._count = 0
        self._killed = self._restarted = False

    @classmethod
    def of(cls, case: Case) -> Batches:
        """Return the micro-batches of a whole script."""
        batches = cls(case)
        for index, line in enumerate(case.script):
            apply_line(line, batches, kill=case.kills_in(index))
        return batches

    def rows(
        self,
        rows: Mapping[str, Any],
        *,
        partitions: Mapping[str, Sequence[str]] | None = None,
        kill: bool = False,
    ) -> None:
        """Run a micro-batch with these rows and, if the watermark advances, another one."""
        [(source, records)] = rows.items()
        names = (partitions or {}).get(source) or ["0"] * len(records)
        content = list(map(self._row, records, names))
        self._add(content, dies=kill)
        self._killed = kill
        if not self._fixed:
            self._reached = self._model.complete(_highest(content), self._clock // 1000)
            self._move(self._reached)

    def watermark(self, marks: Mapping[str, int]) -> None:
        """Set the watermark."""
        self._add([], next(iter(marks.values())))

    def advance(self, microseconds: int) -> None:
        """Advance the clock."""
        self._clock += microseconds
        self._add([])
        reached = None if self._fixed else self._model.tick(self._clock // 1000)
        if reached != self._reached:
            self._reached = reached
            self._move(reached)

    def restart(self) -> None:
        """Kill the run; it resumes from its stored state and replays the interrupted micro-batch."""
        self._restarted, self._killed = not self._killed, False

    def end(self) -> None:
        """End the input."""
        self._add([], END_OF_TIME_MS * 1000)

    def _add(
        self, rows: Sequence[Mapping[str, Any]], watermark: int | None = None, *, dies: bool = False
    ) -> None:
        batch: dict[str, Any] = {"rows": rows, "clock": self._clock}
        if watermark is not None and watermark >= 1000:  # in whole milliseconds; 0 means no watermark
            batch["watermark"] = watermark // 1000 * 1000
        flags = {"dies": dies, "restart": self._restarted}
        self.content.append(batch | {flag: True for flag, is_set in flags.items() if is_set})
        self._restarted = False

    def _move(self, reached: int | None) -> None:
        """Run a micro-batch with the watermark of this event time, in milliseconds."""
        if reached is not None:
            self._add([], reached * 1000 - self._time.out_of_order)

    def _row(self, row: Mapping[str, Any], partition: str) -> dict[str, Any]:
        place = {"source": "", "partition": partition, "offset": self._count}
        self._count += 1
        values = {field.name: _to_micros(row.get(field.name), field.type) for field in self._schema.fields}
        return {**values, "__ts": values[self._time.column], "__position": place}


def _highest(rows: Sequence[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the highest event time per partition, in milliseconds; None without event times."""
    highest: dict[str, int | None] = {}
    for row in rows:
        name, time = row["__position"]["partition"], row["__ts"]
        times = [
            part for part in (highest.get(name), None if time is None else time // 1000) if part is not None
        ]
        highest[name] = max(times, default=None)
    return highest


def _to_micros(value: Any, kind: DataType) -> Any:
    """Return a JSON value with times as microseconds, as in Spark."""
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_to_micros(item, kind.element) for item in value]
    if isinstance(kind, Map):
        return {key: _to_micros(item, kind.value) for key, item in value.items()}
    if isinstance(kind, Struct):
        return {field.name: _to_micros(value.get(field.name), field.type) for field in kind.fields}
    return micros_of_plain(value) if str(kind) in ("timestamp", "timestamp_ntz") else value
