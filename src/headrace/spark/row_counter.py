"""A counter of the rows that a sink reads, independent of the sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.spark.gateway import java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RowCounter:
    """Count the rows of a batch while a job computes it; a retried task counts once."""

    def __init__(self, frame: DataFrame) -> None:
        from pyspark.sql import Column

        operators = kernel(frame.sparkSession).operators
        self._kernel = operators.RowCounter.create(java_session(frame.sparkSession))
        self.frame = frame.where(Column(operators.RowCounter.column(self._kernel)))
        """The same rows; reading them counts them."""

    @property
    def rows(self) -> int:
        """The number of rows; valid after a job has read all of them."""
        return int(self._kernel.value())
