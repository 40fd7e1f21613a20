"""The bridge to the kernel's patterns: a frame in, tagged rows out.

The kernel gets the pattern as JSON (`declaration`) and the frame with Headrace's own columns. Conditions go
as text, which the kernel reads with Spark's parser: those on the row alone become columns, those on rows
matched so far are evaluated in the step. A pyspark Column refers only to its own row, and becomes a column
here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from headrace.lowering.counts import Counts, Time
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.patterns.declaration import PatternDeclaration

if TYPE_CHECKING:
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
    operator = kernel(frame.sparkSession).operators.inorder.InOrderOperator
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(ready), declared.text)
    if not frame.isStreaming:
        return DataFrame(operator.batch(java_frame(ready), step), frame.sparkSession)
    counters = counts or Counts(frame.sparkSession)
    return DataFrame(operator.apply(java_frame(ready), step, counters._kernel), frame.sparkSession)


class MatchDriver:
    """A pattern in virtual time without a streaming query.

    The kernel's per-key logic over state in memory.
    """

    def __init__(self, frame: DataFrame, keys: Sequence[str], node: Match) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        declared = PatternDeclaration(node, keys)
        classes = kernel(frame.sparkSession)
        step = classes.patterns.MatchStep.apply(java_frame(frame), declared.text)
        self._kernel = classes.operators.inorder.InOrderDriver(step)

    def run(self, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the rows of each batch of a script, from an empty state; see `WindowDriver.run`."""
        answer: dict[str, Any] = json.loads(self._kernel.run(json.dumps(list(script))))
        return answer
