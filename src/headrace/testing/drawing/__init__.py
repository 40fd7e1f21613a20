"""Pictures of cases: `headrace draw case.yaml -o case.svg`.

A picture is a time line. Event time runs to the right and the lines of the script down, so that the watermark is a
line that steps to the right as it goes down; rows are dots, windows are shaded while they are open, and panes are boxes
over their window where they fire, coloured by timing, retractions struck through.

recorder    runs a case and keeps what came        recording   what it keeps, plain data
layout      recording to marks, by bands, lanes, scale and legend
svg, style  marks to text
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import LoadError, did_you_mean
from headrace.testing.drawing.layout import panel_of
from headrace.testing.drawing.recording import Recording
from headrace.testing.drawing.svg import svg_of
from headrace.testing.transcripts.case import Case, read_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["draw", "draw_recordings"]


def draw(path: str | Path, *, case: str = "", step: str = "", spark: SparkSession | None = None) -> str:
    """The cases of a file as one SVG, a panel each. Draws what comes, expected or not: a case need not pass.

    Args:
        path: a file of cases.
        case: draw only those whose name contains this text.
        step: the step with windows to draw; else the first that the script looks at.
        spark: a session that Headrace opened; one is opened if None.

    Raises:
        DocumentError: the file, or a case that is to be drawn, is wrong.
        LoadError: no case has such a name.
        TranscriptError: a case has no step with windows.

    >>> draw("docs/transcripts/tumbling.transcript.yaml").startswith("<svg ")
    True
    """
    from headrace.testing.drawing.recorder import record
    from headrace.testing.transcripts.runner import test_session

    cases = chosen(path, case)
    session = spark or test_session()
    return draw_recordings(record(each, session, step=step) for each in cases)


def draw_recordings(recordings: Iterable[Recording]) -> str:
    """Recordings as one SVG, a panel each.

    >>> from headrace.testing.drawing.recording import Arrival, Moment
    >>> rows = Moment("rows", "rows", (Arrival(1_000_000, "v"),))
    >>> draw_recordings([Recording("one row", "counts", (rows,))]).startswith("<svg ")
    True
    """
    return svg_of([panel_of(recording) for recording in recordings])


def chosen(path: str | Path, name: str = "") -> list[Case]:
    """The cases of a file whose name contains a text; one that can't be read raises what is wrong with it."""
    every = read_file(path)
    found = [case for case in every if name in case.name]
    if not found:
        raise LoadError(
            f"no case is called {name!r}",
            where=str(path),
            hint=did_you_mean(name, [case.name for case in every]),
        )
    for case in found:
        if not isinstance(case, Case):
            raise case.error
    return [case for case in found if isinstance(case, Case)]
