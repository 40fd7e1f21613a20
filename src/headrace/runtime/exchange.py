"""The hand-over log: how rows and the watermark pass from one query to the next, exactly once.

A log is a file sink of our own: Parquet files that become visible epoch by epoch. Where the rows have time, each epoch
ends with a *beat*: a row that carries the watermark under which the epoch was computed. The reader takes the rows first
and the watermark after, so what the first query gave on time is on time in the next.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, StructField, StructType

from headrace.connectors.files import Files
from headrace.lowering.expressions import TIME
from headrace.lowering.watermarks import BEAT, with_floor, without_beats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.base import Writer
    from headrace.lowering.watermarks import Heartbeats
    from headrace.steps.base import Ref


class HandoverLog:
    """The log of one output of one query."""

    def __init__(self, directory: str | Path, ref: Ref, *, delay: int | None, hold: int = 0) -> None:
        """Name a log.

        Args:
            directory: the pipeline's directory.
            ref: the output that is handed over.
            delay: how far the watermark stays behind the rows' time in microseconds, or None if they have no time.
            hold: how long after its own time a row may come: the reader's watermark stays that far behind.
        """
        self.path = Path(directory) / "handover" / str(ref).replace(":", "_")
        self.delay = delay
        self.hold = hold

    def writer(self) -> Writer:
        """The writing end: the exactly-once file sink."""
        return Files(path=str(self.path), format="parquet").writer()

    def with_beat(self, frame: DataFrame, watermark_ms: int) -> DataFrame:
        """The epoch's rows, and the beat if there is a watermark to tell."""
        if self.delay is None:
            return frame
        rows = frame.withColumn(BEAT, F.lit(False))
        watermark = watermark_ms * 1000 - self.hold
        if watermark <= 0:
            return rows
        time = F.timestamp_micros(F.lit(watermark + self.delay))
        beat = frame.sparkSession.range(1).select(time.alias(TIME), F.lit(True).alias(BEAT))
        return rows.unionByName(beat, allowMissingColumns=True)

    def read(
        self, spark: SparkSession, schema: StructType, heartbeats: Heartbeats, *, wakes: bool
    ) -> DataFrame:
        """The reading end, as a stream with a watermark.

        The log has its own beats; the heartbeat beside it only wakes a query that has to run without a row.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if self.delay is None:
            return self._files(spark, schema)
        stored = StructType([*schema.fields, StructField(BEAT, BooleanType())])
        rows = heartbeats.united(self._files(spark, stored), TIME, self.path.name, wakes=wakes)
        marked = rows.withWatermark(TIME, f"{self.delay} microseconds")
        return with_floor(without_beats(marked, TIME))

    def rows(self, spark: SparkSession) -> DataFrame:
        """All rows that are in the log now, as a batch."""
        frame = spark.read.parquet(str(self.path))
        return frame if self.delay is None else without_beats(frame, TIME)

    def _files(self, spark: SparkSession, schema: StructType) -> DataFrame:
        # Spark ignores files older than a week next to the newest unless told otherwise.
        return spark.readStream.schema(schema).option("maxFileAge", "36500d").parquet(str(self.path))
