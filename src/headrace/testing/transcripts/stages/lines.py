"""Apply the lines of a script to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.testing.transcripts.script import Advance, End, Expect, Line, Restart, Rows, Rules, Watermark
from headrace.testing.transcripts.stages.spark import Stage

if TYPE_CHECKING:
    from headrace.testing.transcripts.stages.batches import Batches


def perform(line: Line, stage: Stage | Batches, *, dying: bool) -> None:
    """Apply a script line to the pipeline; `expect` has no effect."""
    match line:
        case Rows():
            stage.rows(line.rows, partitions=line.partitions, dying=dying)
        case Rules():
            assert isinstance(stage, Stage)  # the in-process driver does not run such cases
            stage.rules(line.tables)
        case Watermark():
            stage.watermark(line.marks)
        case Advance():
            stage.advance(line.length)
        case Restart():
            stage.restart()
        case End():
            stage.end()
        case Expect():
            pass
