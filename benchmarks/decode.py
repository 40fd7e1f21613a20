"""Decoding JSON: the kernel's decoder compared with Spark's `from_json`.

Both decode the same records, alternating, and compute every column. Prints the medians and their ratio, for
records in memory and in a Parquet file.

    python -m benchmarks decode [--records 200000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headrace import formats
from headrace.formats import Schema
from headrace.lowering.decode import decode_records
from headrace.spark.session import open_session

PAYMENTS = "card string, country string, amount double, ts timestamp"
NESTED = (
    "id bigint, card string, merchant struct<name:string,country:string,lat:double,lon:double>, "
    "lines array<struct<sku:string,price:decimal(10,2),n:int>>, tags map<string,string>, at timestamp, ok "
    "boolean"
)


def records(spark: SparkSession, kind: str, count: int) -> DataFrame:
    """Return records as a source delivers them; Spark writes the JSON."""
    ids = spark.range(0, count, 1, 4)
    at = "date_format(timestamp_seconds(1700000000 + id), \"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\")"
    flat = f"struct(concat('card-', id % 10000) card, 'FI' country, round(rand(1) * 500, 2) amount, {at} ts)"
    nested = (
        f"struct(id, concat('card-', id % 10000) card, "
        "struct('Kahvila Ö' name, 'FI' country, rand(2) * 90 lat, rand(3) * 180 lon) merchant, "
        "transform(sequence(1, 3), n -> struct(concat('sku', n) sku, n * 1.25 price, n n)) lines, "
        f"map('a', 'b', 'channel', 'web') tags, {at} at, id % 2 = 0 ok, 'ignored' extra)"
    )
    value = f"encode(to_json({flat if kind == 'flat' else nested}), 'utf-8')"
    return ids.selectExpr(f"{value} value", "'0' partition", "id offset")


def by_headrace(spark: SparkSession, frame: DataFrame, schema: str) -> DataFrame:
    rows, _ = decode_records(
        spark, frame, format=formats.Json(), schema=Schema.of(schema), on_error="divert", source="bench"
    )
    return rows


def by_from_json(_: SparkSession, frame: DataFrame, schema: str) -> DataFrame:
    """Decode with `from_json`, without a filter on errors: Spark would push it down and parse twice."""
    position = f.struct(f.lit("bench").alias("source"), "partition", "offset").alias("__position")
    parsed = frame.select(f.from_json(f.col("value").cast("string"), schema).alias("d"), position)
    return parsed.select("d.*", "__position")


def measure_seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_alternating(frames: dict[str, DataFrame], rounds: int) -> dict[str, float]:
    """Return the median time of each, in alternating runs after two warm-up rounds."""
    times: dict[str, list[float]] = {name: [] for name in frames}
    for turn in range(rounds + 2):
        for name, frame in frames.items():
            took = measure_seconds(frame.write.format("noop").mode("overwrite").save)
            if turn >= 2:
                times[name].append(took)
    return {name: statistics.median(each) for name, each in times.items()}


def compare(spark: SparkSession, label: str, frame: DataFrame, schema: str, rounds: int) -> None:
    count = frame.count()
    ways = {
        "only read": frame,
        "headrace": by_headrace(spark, frame, schema),
        "from_json": by_from_json(spark, frame, schema),
    }
    median = measure_alternating(ways, rounds)
    rates = "  ".join(f"{name} {count / took / 1e3:6.0f} k/s" for name, took in median.items())
    decode_only = (median["from_json"] - median["only read"]) / (median["headrace"] - median["only read"])
    ratio = median["from_json"] / median["headrace"]
    print(f"{label:18} {rates}  ratio {ratio:.2f} (without reading {decode_only:.2f})", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--records", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    spark = open_session("bench-decode", master="local[2]", conf={"spark.driver.memory": "2g"})
    for kind, schema in (("flat", PAYMENTS), ("nested", NESTED)):
        rows = records(spark, kind, chosen.records)
        with tempfile.TemporaryDirectory() as directory:
            rows.write.mode("overwrite").parquet(directory)
            on_disk = spark.read.parquet(directory)
            in_memory = on_disk.persist()
            in_memory.count()
            compare(spark, f"{kind}, in memory", in_memory, schema, chosen.rounds)
            in_memory.unpersist(blocking=True)
            compare(
                spark,
                f"{kind}, Parquet",
                spark.read.parquet(directory),
                schema,
                chosen.rounds,
            )
    spark.stop()


if __name__ == "__main__":
    main()
