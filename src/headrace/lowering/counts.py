"""Row counts of stateful steps, and the time that a step follows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from headrace.spark.gateway import java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Time = Literal["event", "clock"]
"""`clock` for ingestion and processing time, where the clock is the watermark."""


class Counts:
    """The row counts of a running step, as its tasks have added them up so far.

    `rows = folded + late + pending`; a row in several windows is `placed` in each, and `placed = settled +
    lost` + what is in open windows. A task that runs twice counts once.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._kernel = kernel(spark).operators.Counts.create(java_session(spark).sparkContext())

    def values(self) -> dict[str, int]:
        """Return the counts by name."""
        return _read_counts(self._kernel.asJson())

    def of(self, epoch: int) -> dict[str, int]:
        """Return the counts of one epoch by name, once all of it has been computed."""
        return _read_counts(self._kernel.of(epoch))

    def take(self, epoch: int) -> dict[str, int]:
        """Return the counts of one epoch by name, once all of it has been computed.

        Those before it are forgotten.
        """
        return _read_counts(self._kernel.take(epoch))


def _read_counts(text: str) -> dict[str, int]:
    counts: dict[str, int] = json.loads(text)
    return counts
