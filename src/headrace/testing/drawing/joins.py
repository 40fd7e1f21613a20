"""Record the results of a join for drawing."""

from __future__ import annotations

from headrace.explain.timelines.recording import Moment, Pane, Recording
from headrace.joins.declare import WINDOW, IntervalJoin, TableJoin, TwoInputs, WindowJoin
from headrace.steps.base import Ref
from headrace.steps.endpoints.source import Source
from headrace.steps.facts import CHANGE
from headrace.testing.drawing.recorder import Recorder, as_fields, span_of_window
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.outputs import Output, show
from headrace.testing.transcripts.script import Rows

_REMOVED = ("update_before", "delete")


class JoinRecorder(Recorder):
    """Records the results of a join: each extends from the event time of one row to that of the other."""

    def __init__(self, case: Case, node: TwoInputs) -> None:
        left, right = ([pair[side] for pair in node.key_pairs] for side in (0, 1))
        super().__init__(case, node, list(dict.fromkeys([*left, *right])))
        self._join = node
        self._right = self._sources(node.other)
        self._several = len(self._key_values(left, right)) > 1
        self._how = getattr(node, "how", "inner")
        self._time_columns = [time.column for time in self._times.values()]

    def recording(self, moments: tuple[Moment, ...]) -> Recording:
        node = self._join
        left, right = (ref.step.split(":")[0] for ref in (node.input, node.other))
        phrases = " · ".join(filter(None, node.description())).replace(str(node.other), right)
        return Recording(
            self._case.name,
            f"{node.name}: {phrases}",
            moments,
            sides=(left, right),
            windowed=isinstance(node, WindowJoin),
        )

    def pane(self, row: Output) -> Pane:
        times = [getattr(row.get(name), "micros", None) for name in self._time_columns]
        known = [time for time in times if time is not None]
        start, end = (min(known), max(known)) if known else (None, None)
        if isinstance(self._join, WindowJoin):
            start, end = span_of_window(row)
        hidden = (*self._keys, *self._time_columns, CHANGE, WINDOW)
        shown = " ".join(show(value) for name, value in row.items() if name not in hidden)
        matched = len(known) == len(times) or self._how == "semi"
        return Pane(
            start,
            end,
            self.label_row(row, shown),
            "joined" if matched else "unmatched",
            row.get(CHANGE) in _REMOVED,
            self._waits(matched),
        )

    def is_right(self, source: str) -> bool:
        return source in self._right

    def _waits(self, matched: bool) -> bool:
        """Return true if a result waits for the watermark."""
        if isinstance(self._join, IntervalJoin):
            return not matched
        return self._join.at == "event_time" if isinstance(self._join, TableJoin) else True

    def _key_values(self, left: list[str], right: list[str]) -> set[tuple[str, ...]]:
        """Return the keys of all rows of the script."""
        inputs = (line.rows.items() for line in self._case.script if isinstance(line, Rows))
        return {
            tuple(show(as_fields(row).get(name)) for name in (right if source in self._right else left))
            for by_source in inputs
            for source, rows in by_source
            for row in rows
        }

    def _sources(self, ref: Ref) -> set[str]:
        """Return the names of the sources that an input reads."""
        node = self._case.graph[ref.step]
        nodes = [node, *self._case.graph.upstream(node)]
        return {each.name for each in nodes if isinstance(each, Source)}
