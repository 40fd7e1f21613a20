"""Tumbling, sliding and session windows on Spark's operators: in Headrace and in plain PySpark.

Both read the same Parquet files, drop and count late rows, and write Parquet files exactly once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness import Measured, compare
from headrace import Pipeline, connect, windows
from headrace.spark.session import open_session

ROWS = 4_000_000
KEYS = 10_000
FILES = 4
SCHEMA = "key bigint, value double, ts timestamp"
KINDS: dict[str, tuple[windows.Window, Callable[[], Column]]] = {
    "tumbling": (windows.tumbling("1 minute"), lambda: F.window("ts", "1 minute")),
    "sliding": (
        windows.sliding("5 minutes", every="1 minute"),
        lambda: F.window("ts", "5 minutes", "1 minute"),
    ),
    "session": (windows.session("30 seconds"), lambda: F.session_window("ts", "29999999 microseconds")),
}


def main() -> None:
    """Measure the three kinds of windows."""
    spark = open_session("benchmarks", conf={"spark.driver.memory": "4g"})
    with tempfile.TemporaryDirectory() as place:
        source = write_input(spark, Path(place) / "in")
        for kind in KINDS:
            measure(spark, kind, source, Path(place))


def measure(spark: SparkSession, kind: str, source: Path, place: Path) -> list[Measured]:
    """Compare both sides on one kind of window."""
    window, native = KINDS[kind]
    contenders = {
        "PySpark": lambda: run_pyspark(spark, native(), source, place / uuid4().hex),
        "Headrace": lambda: run_headrace(window, source, place / uuid4().hex),
    }
    return compare(f"{kind} windows, native", contenders, rows=ROWS)


def write_input(spark: SparkSession, path: Path) -> Path:
    """Write rows of one hour and ten thousand keys, up to ten seconds out of order."""
    rows = spark.range(0, ROWS, 1, FILES).select(
        (F.xxhash64("id") % KEYS).alias("key"),
        (F.xxhash64("id", F.lit(1)) % 1000).cast("double").alias("value"),
        F.timestamp_micros(
            (F.col("id") * (3_600_000_000 // ROWS)) + F.pmod(F.xxhash64("id"), F.lit(10_000_000))
        ).alias("ts"),
    )
    rows.write.parquet(str(path))
    return path


def run_pyspark(spark: SparkSession, window: Column, source: Path, place: Path) -> None:
    """Run the plain PySpark query."""
    rows = spark.readStream.schema(SCHEMA).parquet(str(source)).withWatermark("ts", "10 seconds")
    panes = rows.groupBy("key", window).agg(F.count("*").alias("n"), F.sum("value").alias("total"))
    writer = panes.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination()


def run_headrace(window: windows.Window, source: Path, place: Path) -> None:
    """Run the pipeline."""
    pipeline = Pipeline("bench")
    rows = pipeline.read("rows", connect.files(path=str(source), format="parquet"), schema=SCHEMA)
    panes = (
        rows.event_time("ts", out_of_order="10 seconds")
        .key_by("key")
        .window(window, engine="native")
        .aggregate("panes", n="count(*)", total="sum(value)")
    )
    panes.write("out", connect.files(path=str(place / "out"), format="parquet"))
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint")


if __name__ == "__main__":
    main()
