"""An interval join of two streams: through Headrace and by hand with Spark's stream-stream join.

Both read the same Parquet files in the same micro-batches, keep state in RocksDB and write Parquet files exactly
once. Spark drops late rows; Headrace diverts them. The number of pairs must be equal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness import Measured, compare
from headrace import Connector, Pipeline, connect
from headrace.spark.session import open_session

VIEWS = 1_000_000
CLICKS = VIEWS // 2
KEYS = 200_000
FILES = 10
HOUR = 3_600_000_000
BACK = VIEWS // 8
"""A click refers to one of this many views before it: less than 8 minutes."""
VIEW_SCHEMA = "ad bigint, seen timestamp, campaign bigint"
CLICK_SCHEMA = "ad bigint, at timestamp, cost double"


def main() -> None:
    """Measure both."""
    spark = open_session("benchmarks", conf={"spark.driver.memory": "3g"})
    with tempfile.TemporaryDirectory() as place:
        measure(spark, Path(place))


def measure(spark: SparkSession, place: Path, *, runs: int = 5) -> list[Measured]:
    """Join views with the clicks that follow within 10 minutes."""
    views, clicks = write_input(spark, place)
    pairs: dict[str, set[int]] = {"PySpark by hand": set(), "Headrace": set()}

    def count(contender: str, out: Path) -> None:
        pairs[contender].add(spark.read.parquet(str(out)).count())

    def hand() -> None:
        count("PySpark by hand", by_hand(spark, views, clicks, place / uuid4().hex))

    def ours() -> None:
        count("Headrace", through_headrace(views, clicks, place / uuid4().hex))

    contenders = {"PySpark by hand": hand, "Headrace": ours}
    measured = compare("interval join", contenders, rows=VIEWS + CLICKS, runs=runs)
    counts = set.union(*pairs.values())
    assert len(counts) == 1, f"the contenders differ: {pairs}"
    print(f"{counts.pop():,} pairs")
    return measured


def write_input(spark: SparkSession, place: Path) -> tuple[Path, Path]:
    """Write an hour of views and clicks, in order of time; a file is a tenth of it."""
    views = spark.range(0, VIEWS, 1, FILES).select(
        _ad(F.col("id")).alias("ad"),
        F.timestamp_micros(F.col("id") * (HOUR // VIEWS)).alias("seen"),
        (F.col("id") % 100).alias("campaign"),
    )
    viewed = F.col("id") * (VIEWS // CLICKS) - F.pmod(F.xxhash64("id", F.lit(1)), F.lit(BACK))
    clicks = spark.range(0, CLICKS, 1, FILES).select(
        _ad(F.greatest(viewed, F.lit(0))).alias("ad"),
        F.timestamp_micros(F.col("id") * (HOUR // CLICKS)).alias("at"),
        (F.col("id") % 7).cast("double").alias("cost"),
    )
    for name, frame in (("views", views), ("clicks", clicks)):
        frame.write.parquet(str(place / name))
    return place / "views", place / "clicks"


def _ad(view: Column) -> Column:
    return F.pmod(F.xxhash64(view), F.lit(KEYS))


def by_hand(spark: SparkSession, views: Path, clicks: Path, place: Path) -> Path:
    """Join as a user of Structured Streaming does."""

    def read(path: Path, schema: str, time: str) -> DataFrame:
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
        return rows.withWatermark(time, "10 seconds")

    left = read(views, VIEW_SCHEMA, "seen")
    right = read(clicks, CLICK_SCHEMA, "at").withColumnRenamed("ad", "clicked")
    close = "ad = clicked and at >= seen and at <= seen + interval 10 minutes"
    pairs = left.join(right, F.expr(close)).drop("clicked")
    writer = pairs.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination()
    return place / "out"


def through_headrace(views: Path, clicks: Path, place: Path) -> Path:
    """Join in a pipeline."""
    pipeline = Pipeline("bench")

    def files(path: Path) -> Connector:
        return connect.files(path=str(path), format="parquet", max_files_per_batch=1)

    left = pipeline.read("views", files(views), schema=VIEW_SCHEMA)
    right = pipeline.read("clicks", files(clicks), schema=CLICK_SCHEMA)
    pairs = left.event_time("seen", out_of_order="10 seconds").join(
        "pairs",
        right.event_time("at", out_of_order="10 seconds"),
        on="ad",
        within=("0 seconds", "10 minutes"),
    )
    pairs.write("out", connect.files(path=str(place / "out"), format="parquet"))
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint", progress=False)
    return place / "out"


if __name__ == "__main__":
    main()
