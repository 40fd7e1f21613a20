"""Table steps in virtual time, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.tables.steps import running_step
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TableDriver:
    """A table step without a streaming query: the kernel's per-key logic over state in memory.

    A script of batches takes milliseconds. Times are whole microseconds in both directions.
    """

    def __init__(self, frame: DataFrame, step: Any) -> None:
        self._kernel = kernel(frame.sparkSession).tables.TableDriver(step)

    @classmethod
    def of(cls, frame: DataFrame, kind: str, declared: str) -> TableDriver:
        """Return the driver of a kind of step; the rows of the frame are not read."""
        step = getattr(kernel(frame.sparkSession).tables, kind)
        return cls(frame, step.apply(java_frame(frame), declared))

    @classmethod
    def of_aggregates(
        cls, frame: DataFrame, keys: Sequence[str], aggregates: Mapping[str, str]
    ) -> TableDriver:
        """Return the driver of a running aggregate."""
        columns = [F.expr(item).alias(name) for name, item in aggregates.items()]
        return cls(frame, running_step(frame, keys, columns))

    def run(self, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the output of each batch of a script, from an empty state; see `WindowDriver.run`."""
        answer: dict[str, Any] = json.loads(self._kernel.run(json.dumps(list(script))))
        return answer
