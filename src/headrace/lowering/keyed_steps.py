"""Run keyed steps of the kernel (windows, joins, tables, patterns) over streams, batches and test scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.lowering.counts import Counts
from headrace.spark.gateway import java_frame, kernel


def run_keyed_step(frame: DataFrame, step: Any, counts: Counts | None = None) -> DataFrame:
    """Return the tagged rows of a step: `__output` is `main` or a side output, whose row is in `__<output>`.

    Args:
        frame: the input with `__ts timestamp` (null: no event time) and, if arrival order is known,
            `__position`. A batch is processed like a stream that has ended.
        step: the kernel's step, created over the columns of the frame.
        counts: the row counters of a stream.
    """
    spark = frame.sparkSession
    operator = kernel(spark).operators.keyed.KeyedOperator
    if not frame.isStreaming:
        return DataFrame(operator.batch(java_frame(frame), step), spark)
    counters = counts or Counts(spark)
    return DataFrame(operator.apply(java_frame(frame), step, counters._kernel), spark)


class KeyedStepDriver:
    """Runs a step in virtual time without a streaming query, with state in memory; for tests."""

    def __init__(
        self, spark: SparkSession, step: Any, source: DataFrame | None = None, frame: DataFrame | None = None
    ) -> None:
        """Create a driver; rows of scripts have the columns of `source`, if `frame` adds columns to it."""
        frames = [java_frame(each) for each in (source, frame) if each is not None]
        self._kernel = kernel(spark).operators.keyed.KeyedDriver(step, *frames)

    def run(self, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the output of each batch of a script, starting from empty state.

        A batch is `{"rows": [...], "watermark": t, "clock": t}`, with times in microseconds; the watermark
        defaults to the last one. With `"restart": True` the step resumes from stored state before the batch;
        with `"dies": True` it crashes in the batch and replays it. The result has `events` (tagged rows of
        each batch), `doomed` (those of a crashed attempt, else null), `counts`, `open` (rows in open windows)
        and `keys` (keys with state).
        """
        result: dict[str, Any] = json.loads(self._kernel.run(json.dumps(list(script))))
        return result
