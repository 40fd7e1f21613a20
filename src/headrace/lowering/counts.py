"""Row counters of stateful steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.spark.gateway import java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIOLATED_RULE = "violated "
"""The start of the counters of rules that rows violate, before the name of the rule."""


class Counts:
    """The kernel's row counters of a step, summed over its tasks; a retried task counts once.

    `RowAccounting` explains the counters.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._kernel = kernel(spark).operators.Counts.create(java_session(spark).sparkContext())

    def values(self) -> dict[str, int]:
        """Return the counts by name."""
        return _read_counts(self._kernel.asJson())

    def of(self, epoch: int) -> dict[str, int]:
        """Return the counts of one epoch by name; call after all its rows have been computed."""
        return _read_counts(self._kernel.of(epoch))

    def take(self, epoch: int) -> dict[str, int]:
        """Return the counts of one epoch like `of`, and drop those of earlier epochs."""
        return _read_counts(self._kernel.take(epoch))


def _read_counts(text: str) -> dict[str, int]:
    counts: dict[str, int] = json.loads(text)
    return counts
