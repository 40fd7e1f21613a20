"""Lower `match` to the kernel's patterns.

The kernel receives the pattern as JSON (`declaration`) and the frame with hidden columns. Conditions are
text, which the kernel parses with Spark's parser: conditions on the row alone become columns, others are
evaluated in the step. A pyspark Column, which can refer to its row only, becomes a column here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.lowering.counts import Counts
from headrace.lowering.keyed_steps import KeyedStepDriver, run_keyed_step
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.patterns.declaration import PatternDeclaration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.steps.facts import Time
    from headrace.steps.patterns.match import Match


def find_matches(
    frame: DataFrame, keys: Sequence[str], node: Match, *, time: Time = "event", counts: Counts | None = None
) -> DataFrame:
    """Return the tagged rows of a pattern: `__output` is `main`, `timeouts` or `late`.

    Args:
        frame: the input, as for `run_keyed_step`; a stream has a watermark, unless `time` is the clock.
        keys: the names of the key columns.
        node: the pattern.
        time: `clock` for ingestion and processing time, where the watermark is the clock.
        counts: the row counters of a stream.
    """
    declared = PatternDeclaration(node, keys, time=time)
    ready = declared.over(frame)
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(ready), declared.text)
    return run_keyed_step(ready, step, counts)


def match_driver(frame: DataFrame, keys: Sequence[str], node: Match) -> KeyedStepDriver:
    """Return a driver of a pattern in virtual time; of `frame`, only the columns are used."""
    declared = PatternDeclaration(node, keys)
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(frame), declared.text)
    return KeyedStepDriver(frame.sparkSession, step)
