"""Apply the lines of a script to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.testing.transcripts.runs.spark import SparkRun
from headrace.testing.transcripts.script import Advance, End, Expect, Line, Restart, Rows, Rules, Watermark

if TYPE_CHECKING:
    from headrace.testing.transcripts.runs.batches import Batches


def apply_line(line: Line, run: SparkRun | Batches, *, kill: bool) -> None:
    """Apply a script line to the pipeline; `expect` has no effect."""
    match line:
        case Rows():
            run.rows(line.rows, partitions=line.partitions, kill=kill)
        case Rules():
            assert isinstance(run, SparkRun)  # the in-process driver does not run such cases
            run.rules(line.tables)
        case Watermark():
            run.watermark(line.marks)
        case Advance():
            run.advance(line.length)
        case Restart():
            run.restart()
        case End():
            run.end()
        case Expect():
            pass
