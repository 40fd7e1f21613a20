"""Sends epochs to topics from their tasks, without a transaction: at least once.

Nothing passes through the driver. Readers see records before their epoch commits, and an epoch that is
replayed is sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.base import StagedRows, WriteContext
from headrace.connectors.failpoints import reach
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.topic_writer import TopicWriter
from headrace.spark.gateway import java_frame, java_map, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TaskKafkaWriter(TopicWriter):
    """Writes the epochs of one sink with a producer in each task."""

    def open(self, context: WriteContext) -> int:
        self._check_mode(context)
        self.prepare(context)
        return -1

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        shaped = self._records_of(frame)
        producer = java_map(frame.sparkSession, properties.task_producer(self._options))
        with self._translate_errors(f"cannot take epoch {epoch}"):
            rows = int(kernel(frame.sparkSession).kafka.TaskSender.send(java_frame(shaped), producer))
        reach("kafka.sent")
        return StagedRows(rows)

    def commit(self, epoch: int, staged: StagedRows) -> None:
        """Do nothing: readers have seen the records since they were sent."""

    def close(self) -> None:
        self._context = None
