"""Record a case for drawing, line by line, without comparing rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.durations import text as duration_text
from headrace.errors import TranscriptError, did_you_mean
from headrace.explain.timelines.recording import Arrival, Ends, Kind, Moment, Pane, Recording
from headrace.joins.declare import TwoInputs
from headrace.steps.base import Node
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import describe_columns
from headrace.testing.drawing.watermark import WatermarkLine
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.outputs import Instant, Output, show
from headrace.testing.transcripts.runner import start_run
from headrace.testing.transcripts.runs.lines import apply_line
from headrace.testing.transcripts.script import (
    Advance,
    End,
    Expect,
    Line,
    Restart,
    Rows,
    Rules,
    Watermark,
    output_of,
    times_of,
)
from headrace.testing.transcripts.values import micros_of_plain
from headrace.windows import Landmark, Trailing, Window
from headrace.windows.declare import WindowAggregate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KINDS: dict[type, Kind] = {
    Rows: "rows",
    Watermark: "watermark",
    Advance: "advance",
    Restart: "restart",
    End: "end",
}


def step_to_draw(case: Case, step: str = "") -> WindowAggregate | TwoInputs:
    """Return the step to draw: the named one, otherwise the first one in an `expect`, otherwise the first."""
    drawn = {node.name: node for node in case.graph if isinstance(node, WindowAggregate | TwoInputs)}
    if step and step not in drawn:
        raise TranscriptError(
            f"unknown windowed step or join `{step}`",
            where=case.where,
            hint=did_you_mean(step, drawn),
        )
    if not drawn:
        raise TranscriptError(
            "there is nothing to draw: no step has a window or is a join",
            where=case.where,
            hint="time lines show windows and joins; `headrace explain` draws the steps",
        )
    expected = [ref.step for name in case.outputs if (ref := output_of(case.graph, name)) is not None]
    return drawn[step or next((name for name in expected if name in drawn), next(iter(drawn)))]


class Recorder:
    """Runs the script of a case and records one step; subclasses convert its results to panes."""

    def __init__(self, case: Case, node: Node, keys: Sequence[str]) -> None:
        self._case, self._node = case, node
        self._keys = keys
        before = {step.name for step in case.graph.upstream(node)}
        sources = [source for source in case.graph.of(Source) if source.name in before]
        self._times = {source.name: times_of(case.graph, source.name)[0] for source in sources}
        self._mark = WatermarkLine(self._times, case.fed)
        self._clock = 0
        self._several = self._has_several_keys()

    def recording(self, moments: tuple[Moment, ...]) -> Recording:
        """Return the recording of the step."""
        raise NotImplementedError

    def pane(self, row: Output) -> Pane:
        """Return the pane of a row of the step's output."""
        raise NotImplementedError

    def is_right(self, source: str) -> bool:
        """Return true for a source of the right input of a join."""
        return False

    def run(self, spark: SparkSession) -> Recording:
        outputs = [self._node.name, *([f"{self._node.name}.late"] if "late" in self._node.outputs else [])]
        run = start_run(self._case, spark, also=tuple(outputs))
        try:
            moments = []
            for index, line in enumerate(self._case.script):
                if isinstance(line, Expect):
                    continue
                apply_line(line, run, kill=self._case.kills_in(index))
                if isinstance(line, Rules):  # has no effect before the next micro-batch
                    continue
                panes, *late = (run.take(name) for name in outputs)
                moments.append(self._moment(line, panes, late[0] if late else []))
        finally:
            run.close()
        return self.recording(tuple(moments))

    def _moment(self, line: Line, panes: list[Output], late: list[Output]) -> Moment:
        if isinstance(line, Advance):
            self._clock += line.length
        arrivals = self._arrivals(line, late) if isinstance(line, Rows) else ()
        mark = self._mark.after(line, arrivals=_times_by_source(self._times, line), clock=self._clock)
        return Moment(_KINDS[type(line)], self._label(line), arrivals, tuple(map(self.pane, panes)), mark)

    def _label(self, line: Line) -> str:
        match line:
            case Watermark(_, marks):
                values = [str(Instant(mark)) for mark in marks.values()]
                return f"watermark {values[0] if len(set(values)) == 1 else ', '.join(values)}"
            case Advance(_, length):
                return f"{duration_text(length)} go by"
            case Restart():
                return "killed, restarted"
            case End():
                return "end of input"
        return "rows"

    def _arrivals(self, line: Rows, late: list[Output]) -> tuple[Arrival, ...]:
        left = list(late)
        return tuple(
            self._arrival(source, as_fields(row), left)
            for source, rows in line.rows.items()
            if source in self._times
            for row in rows
        )

    def _arrival(self, source: str, row: Mapping[str, Any], late: list[Output]) -> Arrival:
        time = self._times[source].column
        at = event_time(row, time) if self._mark.by_event_time(source) else self._clock
        refusal = next((refused for refused in late if _same_row(row, refused)), None)
        if refusal is not None:
            late.remove(refusal)
        shown = [show(value) for name, value in row.items() if name not in (*self._keys, time)]
        return Arrival(
            at,
            self.label_row(row, " ".join(shown)),
            str(refusal["reason"]).replace("_", " ") if refusal is not None else "",
            self.is_right(source),
        )

    def label_row(self, row: Mapping[str, Any], text: str) -> str:
        key = " ".join(show(row[name]) for name in self._keys if name in row)
        return f"{key}: {text}" if self._several and key else text

    def _has_several_keys(self) -> bool:
        inputs = (line.rows.items() for line in self._case.script if isinstance(line, Rows))
        rows = [as_fields(row) for by_source in inputs for _, rows in by_source for row in rows]
        return len({tuple(show(row.get(name)) for name in self._keys) for row in rows}) > 1


class WindowRecorder(Recorder):
    """Records the panes of a windowed step."""

    def __init__(self, case: Case, node: WindowAggregate) -> None:
        super().__init__(case, node, [name for name, _ in node.keys])
        self._windowed = node
        self._values = [name for name, _ in node.aggregates]

    def recording(self, moments: tuple[Moment, ...]) -> Recording:
        node = self._windowed
        return Recording(self._case.name, _declaration(node), moments, _ends(node.window))

    def pane(self, row: Output) -> Pane:
        start, end = span_of_window(row)
        pane, shown = row["pane"], {name: show(row[name]) for name in self._values}
        text = next(iter(shown.values())) if len(shown) == 1 else _join_values(shown)
        return Pane(start, end, self.label_row(row, text), pane["timing"], bool(pane["retraction"]))


def span_of_window(row: Output) -> tuple[int | None, int | None]:
    """Return the ends of the window of a row in microseconds."""
    window = row["window"] or {}
    return getattr(window.get("start"), "micros", None), getattr(window.get("end"), "micros", None)


def _ends(window: Window) -> Ends:
    if isinstance(window, Trailing):
        return "(]"
    grows_by_steps = isinstance(window, Landmark) and window.reset
    return "[]" if window.order_dependent and not grows_by_steps else "[)"


def _declaration(node: WindowAggregate) -> str:
    phrases = [
        node.window.describe(),
        *([f"by {describe_columns(node.keys)}"] if node.keys else []),
        *node.emission.describe(node.window.on_time),
        describe_columns(node.aggregates),
    ]
    return f"{node.name}: {' · '.join(phrases)}"


def as_fields(row: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    """Return the columns of a row; a record that is not a JSON object is one column with its text."""
    if not isinstance(row, bytes):
        return row
    try:
        fields = json.loads(row)
    except ValueError:
        fields = None
    return fields if isinstance(fields, dict) else {"record": row.decode(errors="replace")}


def event_time(row: Mapping[str, Any], column: str) -> int | None:
    """Return the event time of a row in microseconds, if it has one."""
    return micros_of_plain(row[column]) if row.get(column) is not None else None


def _times_by_source(times: Mapping[str, Any], line: Line) -> dict[str, list[int]]:
    if not isinstance(line, Rows):
        return {}
    by_source = {
        source: [event_time(as_fields(row), times[source].column) for row in rows]
        for source, rows in line.rows.items()
        if source in times
    }
    return {source: [at for at in ats if at is not None] for source, ats in by_source.items()}


def _same_row(row: Mapping[str, Any], refused: Output) -> bool:
    return all(_same(value, refused[name]) for name, value in row.items() if name in refused)


def _same(value: Any, refused: Any) -> bool:
    return micros_of_plain(value) == refused.micros if isinstance(refused, Instant) else value == refused


def _join_values(shown: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in shown.items())
