"""Draw transcripts as time lines: `headrace draw case.yaml -o case.svg`.

The x axis is event time and the y axis is the script, so that the watermark is a line with steps to the
right. Rows are dots, open windows are shaded, and panes are boxes over their window, coloured by timing;
retractions are struck through. Results of a join extend from one of their rows to the other. `recorder` and
`joins` run a case; `headrace.explain.timelines` draws the recording.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import LoadError, did_you_mean
from headrace.explain.svg.writer import render
from headrace.explain.timelines.layout import panel_of
from headrace.explain.timelines.recording import Recording
from headrace.joins.declare import TwoInputs
from headrace.testing.drawing.joins import JoinRecorder
from headrace.testing.drawing.recorder import WindowRecorder, step_to_draw
from headrace.testing.transcripts.case import Case, read_file
from headrace.testing.transcripts.runner import test_session
from headrace.windows.declare import WindowAggregate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["draw", "draw_recordings"]


def draw(path: str | Path, *, case: str = "", step: str = "", spark: SparkSession | None = None) -> str:
    """Return the cases of a file as one SVG with a panel for each; a case need not pass.

    Args:
        path: a file of transcripts.
        case: draw only cases whose name contains this text.
        step: the windowed step or the join to draw; default: the first one in an `expect`.
        spark: a session opened by Headrace; default: a new one.

    Raises:
        DocumentError: the file or one of its cases is invalid.
        LoadError: no case has this name.
        TranscriptError: a case has no windowed step and no join.

    >>> draw("docs/transcripts/tumbling.transcript.yaml").startswith("<svg ")
    True
    """
    steps = [(each, step_to_draw(each, step)) for each in select_cases(path, case)]
    session = spark or test_session()
    return draw_recordings(_record(each, node, session) for each, node in steps)


def _record(case: Case, node: WindowAggregate | TwoInputs, spark: SparkSession) -> Recording:
    """Run a case and record the output of a windowed step or a join."""
    recorder = JoinRecorder(case, node) if isinstance(node, TwoInputs) else WindowRecorder(case, node)
    return recorder.run(spark)


def draw_recordings(recordings: Iterable[Recording]) -> str:
    """Return recordings as one SVG with a panel for each.

    >>> from headrace.explain.timelines.recording import Arrival, Moment
    >>> rows = Moment("rows", "rows", (Arrival(1_000_000, "v"),))
    >>> draw_recordings([Recording("one row", "counts", (rows,))]).startswith("<svg ")
    True
    """
    return render([panel_of(recording) for recording in recordings])


def select_cases(path: str | Path, name: str = "") -> list[Case]:
    """Return the cases of a file whose name contains a text; an invalid case raises its error."""
    cases = read_file(path)
    selected = [case for case in cases if name in case.name]
    if not selected:
        raise LoadError(
            f"no case is named {name!r}",
            where=str(path),
            hint=did_you_mean(name, [case.name for case in cases]),
        )
    for case in selected:
        if not isinstance(case, Case):
            raise case.error
    return [case for case in selected if isinstance(case, Case)]
