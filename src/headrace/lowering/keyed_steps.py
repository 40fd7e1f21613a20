"""Keyed steps of the kernel over a stream, a batch, or a script of batches.

Windows, joins, tables and patterns are keyed steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.lowering.counts import Counts
from headrace.spark.gateway import java_frame, kernel


def run_keyed_step(frame: DataFrame, step: Any, counts: Counts | None = None) -> DataFrame:
    """Return the tagged rows of a step: `__output` names the column that holds the row.

    Args:
        frame: The input with `__ts timestamp` (null: no event time) and, where arrival order is known,
            `__position`. Over a stream the step follows the watermark; over a batch it takes all rows, then
            the end of the input.
        step: The kernel's step, created over the columns of the frame.
        counts: The row accounting of a stream.
    """
    spark = frame.sparkSession
    operator = kernel(spark).operators.keyed.KeyedOperator
    if not frame.isStreaming:
        return DataFrame(operator.batch(java_frame(frame), step), spark)
    counters = counts or Counts(spark)
    return DataFrame(operator.apply(java_frame(frame), step, counters._kernel), spark)


class KeyedStepDriver:
    """A step in virtual time without a streaming query: the kernel's per-key logic over state in memory.

    For tests: a script of batches takes milliseconds.
    """

    def __init__(
        self, spark: SparkSession, step: Any, source: DataFrame | None = None, frame: DataFrame | None = None
    ) -> None:
        """Run scripts with the rows of the step's input; of `source`, if the step's `frame` adds columns."""
        frames = [java_frame(each) for each in (source, frame) if each is not None]
        self._kernel = kernel(spark).operators.keyed.KeyedDriver(step, *frames)

    def run(self, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the output of each batch of a script, from an empty state.

        A batch is `{"rows": [...], "watermark": t, "clock": t}`, with times in microseconds; without a
        watermark the last one holds. With `"restart": True` the run resumes from its stored state before the
        batch; with `"dies": True` it crashes in the batch, which then runs again. The result has `events`
        (tagged rows of each batch), `doomed` (those of an attempt that crashed, else null), `counts`, `open`
        (rows in open windows) and `keys` (keys with state).
        """
        answer: dict[str, Any] = json.loads(self._kernel.run(json.dumps(list(script))))
        return answer
