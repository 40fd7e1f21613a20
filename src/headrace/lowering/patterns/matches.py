"""The bridge to the kernel's patterns: a frame in, tagged rows out.

The kernel gets the pattern as JSON (`declaration`) and the frame with Headrace's own columns. Conditions go
as text, which the kernel reads with Spark's parser: those on the row alone become columns, those on rows
matched so far are evaluated in the step. A pyspark Column refers only to its own row, and becomes a column
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.lowering.counts import Counts, Time
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.patterns.declaration import PatternDeclaration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.steps.patterns.match import Match


def find_matches(
    frame: DataFrame, keys: Sequence[str], node: Match, *, time: Time = "event", counts: Counts | None = None
) -> DataFrame:
    """Return the tagged rows of a pattern: `__output` is `main`, `timeouts` or `late`.

    Args:
        frame: The input with `__ts timestamp` (null: no event time), and `__position` where arrival order is
            known; if it is a stream, under a watermark, unless `time` is the clock. If not, the pattern is
            found to its end.
        keys: Names of the key's columns.
        node: The pattern.
        time: `clock` for ingestion and processing time, where the clock is the watermark.
        counts: Where rows are counted.
    """
    declared = PatternDeclaration(node, keys, time=time)
    ready = declared.over(frame)
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(ready), declared.text)
    return run_keyed_step(ready, step, counts)


def match_driver(frame: DataFrame, keys: Sequence[str], node: Match) -> KeyedStepDriver:
    """Return a pattern in virtual time; it takes the columns of `frame`, whose rows are not read."""
    declared = PatternDeclaration(node, keys)
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(frame), declared.text)
    return KeyedStepDriver(frame.sparkSession, step)
