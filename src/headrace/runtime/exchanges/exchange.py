"""Exchanges: exactly-once logs that pass rows and the watermark from one query to the next.

An exchange is written by the file sink: Parquet files that become visible epoch by epoch. If the rows have
event time, an epoch whose watermark has advanced ends with a *watermark marker*: a row with the watermark of
the epoch. Rows take effect before the marker of their epoch, so rows that were emitted on time are on time in
the next query. Only markers advance the watermark of the reader, because a step can emit rows ahead of its
watermark, such as early panes. An epoch without rows and marker writes no file, and hence starts no epoch of
the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, StructField, StructType

from headrace.checkpoints.integrity.exchange_files import checksum
from headrace.connectors.files import Files
from headrace.connectors.files.sink import FilesWriter, Moves
from headrace.lowering.expressions import TIME
from headrace.lowering.watermarks import FIXED_DELAY, PARTITION, block_predicate_pushdown
from headrace.spark.watched_files import watch_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.base import Writer
    from headrace.connectors.ledger import LedgerEntry
    from headrace.lowering.watermarks import Heartbeats
    from headrace.steps.base import Ref


MARKER = "__marker"
"""Column that is true in watermark markers."""


def exchange_path(directory: str | Path, ref: Ref) -> Path:
    """Return the directory of the exchange of an output."""
    return (Path(directory) / "exchange" / str(ref).replace(":", "_")).absolute()


class _ExchangeWriter(FilesWriter):
    """A files sink whose ledger has length and checksum of each file until the file is deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__(Files(path=str(path), format="parquet"))
        self._path = path

    def _describe(self, moves: Moves) -> Sequence[Sequence[str | int]]:
        return [(staged, name, *checksum(self._path / staged)) for staged, name in moves]

    def _is_needed(self, entry: LedgerEntry) -> bool:
        return any((self._path / name).exists() for _, name, *_ in entry.detail.get("moves", ()))


class Exchange:
    """The exchange of one output of one query."""

    def __init__(self, directory: str | Path, ref: Ref, *, timed: bool, hold: int = 0) -> None:
        """Declare an exchange.

        Args:
            directory: the checkpoint directory of the pipeline.
            ref: the output.
            timed: True if the rows have a time.
            hold: how long after its event time a row may be emitted, in microseconds; the watermark of the
                reader is held back by it.
        """
        self.path = exchange_path(directory, ref)
        self.timed = timed
        self.hold = hold
        self._marked_ms = 0
        """The last watermark of this run; the first epoch of a run repeats the marker."""

    def writer(self) -> Writer:
        """Return the file sink that writes the exchange."""
        return _ExchangeWriter(self.path)

    def add_marker(self, frame: DataFrame, watermark_ms: int) -> DataFrame:
        """Return the rows of an epoch, with a watermark marker if the watermark has advanced."""
        if not self.timed:
            return frame
        rows = frame.withColumn(MARKER, F.lit(False))
        watermark = watermark_ms * 1000 - self.hold
        if watermark <= 0 or watermark_ms <= self._marked_ms:
            return rows
        self._marked_ms = watermark_ms
        time = F.timestamp_micros(F.lit(watermark + FIXED_DELAY))
        marker = frame.sparkSession.range(1).select(time.alias(TIME), F.lit(True).alias(MARKER))
        return rows.unionByName(marker, allowMissingColumns=True)

    def read(
        self, spark: SparkSession, schema: StructType, heartbeats: Heartbeats, *, run_on_start: bool
    ) -> DataFrame:
        """Return the exchange as a stream with a watermark.

        Its markers advance the watermark; the heartbeat source is needed only for `run_on_start`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.timed:
            return self._files(spark, schema)
        stored = StructType([*schema.fields, StructField(MARKER, BooleanType())])
        rows = self._files(spark, stored).withColumn(PARTITION, F.when(~F.col(MARKER), "")).drop(MARKER)
        timed = heartbeats.track(rows, TIME, self.path.name, delay=FIXED_DELAY, run_on_start=run_on_start)
        return block_predicate_pushdown(timed)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the present rows of the exchange as a batch."""
        frame = spark.read.parquet(str(self.path))
        return frame.where(~F.col(MARKER)).drop(MARKER) if self.timed else frame

    def _files(self, spark: SparkSession, schema: StructType) -> DataFrame:
        # By default Spark ignores files that are a week older than the newest one.
        reader = spark.readStream.schema(schema).option("maxFileAge", "36500d")
        return watch_files(reader, "parquet", f"file://{self.path}")
