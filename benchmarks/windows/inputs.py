"""Input rows of both sides, seeded by their number, so that every run has the same."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812

SCHEMA = "id bigint, key string, kind string, value double, ts timestamp"
DISORDER = "10 seconds"
"""Maximum disorder of event times; with this watermark delay no row is late."""
SPACING = 18_000_000
"""Microseconds between two rows of a key, on average."""
FILES_PER_BATCH = 2


@dataclass(frozen=True)
class Shape:
    """Number of rows, keys and micro-batches."""

    rows: int
    keys: int
    batches: int = 5

    @property
    def step(self) -> float:
        """Microseconds between two rows of the stream."""
        return SPACING / self.keys


def write_rows(
    spark: SparkSession, path: Path, shape: Shape, kind: Literal["parquet", "json"] = "parquet"
) -> Path:
    """Write files in the order of their names and times; a micro-batch reads `FILES_PER_BATCH`.

    A row's key is random. Its value rises by about one from row to row of a key, and starts again at 1000.
    """
    ids = spark.range(0, shape.rows, 1, shape.batches * FILES_PER_BATCH)
    rows = ids.select(
        "id",
        F.concat(F.lit("device-"), _random(1, shape.keys).cast("string")).alias("key"),
        F.when(_random(2, 50) == 0, "end").otherwise("data").alias("kind"),
        F.round(F.pmod(F.col("id") / shape.keys, F.lit(1000)) + _random(3, 500) / 100, 2).alias("value"),
        F.timestamp_micros((F.col("id") * shape.step).cast("bigint") + _random(4, 10_000_000)).alias("ts"),
    )
    rows.write.format(kind).save(str(path))
    return set_file_times(path)


def set_file_times(path: Path, first: int = 1_700_000_000) -> Path:
    """Set the modification times in the order of the names: Spark reads the oldest first."""
    files = sorted(file for file in path.iterdir() if file.name.startswith("part-"))
    for number, file in enumerate(files):
        os.utime(file, (first + number, first + number))
    return path


def _random(seed: int, below: int) -> Column:
    return F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(below))
