"""Repartitioning of state from 2 to 8 to 3 partitions: equal rows, and the time.

    python -m benchmarks.scaling [--keys 1000000]

Counts rows per key in open windows, in three micro-batches, with the state rewritten between them, and
compares the results with an undisturbed run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from headrace import Pipeline, connect, windows
from headrace.checkpoints.repartition import repartition
from headrace.spark.session import open_session

STEPS = (8, 3)
CONF = {"spark.sql.shuffle.partitions": "2"}


def main() -> None:
    """Run both pipelines and compare them."""
    parser = argparse.ArgumentParser(description="Scaling of a job with state.")
    parser.add_argument("--keys", type=int, default=1_000_000)
    keys: int = parser.parse_args().keys
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        scaled = run_scaled(place / "scaled", keys)
        plain = run_plain(place / "plain", keys)
        equal = scaled.exceptAll(plain).isEmpty() and plain.exceptAll(scaled).isEmpty()
        number = plain.count()
    sys.stdout.write(f"{number} rows, {'equal' if equal and number == keys else 'DIFFERENT'}\n")
    sys.exit(int(not equal or number != keys))


def build(place: Path) -> Pipeline:
    """Build a pipeline that counts rows per key."""
    pipeline = Pipeline("scaling")
    source = connect.files(path=str(place / "in"))
    rows = pipeline.read("rows", source, format="parquet", schema="k bigint, ts timestamp").event_time("ts")
    counts = rows.key_by("k").window(windows.tumbling("1 hour")).aggregate("counts", n="count(*)")
    counts.drop("pane").write("out", connect.files(path=str(place / "out"), format="parquet"))
    return pipeline


def run_scaled(place: Path, keys: int) -> DataFrame:
    """Run three batches with other numbers of partitions in between."""
    pipeline = build(place)
    for batch in range(3):
        write_batch(place, keys, batch)
        time_call(
            f"batch {batch + 1}", lambda: pipeline.run(until="caught_up", checkpoint=place / "c", conf=CONF)
        )
        for target in STEPS[batch : batch + 1]:
            rewrite = partial(repartition, pipeline._plan(), place / "c", target)
            time_call(f"to {target} partitions", rewrite)
    time_call("drain", lambda: pipeline.run(until="drained", checkpoint=place / "c", conf=CONF))
    return results(place)


def run_plain(place: Path, keys: int) -> DataFrame:
    """Run the same rows at once."""
    for batch in range(3):
        write_batch(place, keys, batch)
    pipeline = build(place)
    time_call("undisturbed", lambda: pipeline.run(until="drained", checkpoint=place / "c", conf=CONF))
    return results(place)


def write_batch(place: Path, keys: int, batch: int) -> None:
    """Write one row per key."""
    spark = open_session("scaling", conf=CONF)
    rows = spark.range(keys).selectExpr("id AS k", f"timestamp '2026-03-02 09:0{batch}:00' AS ts")
    target = place / "in"
    rows.coalesce(1).write.mode("append").parquet(str(target))


def results(place: Path) -> DataFrame:
    """Return the rows of the sink."""
    return open_session("scaling", conf=CONF).read.parquet(str(place / "out")).select("k", "n")


def time_call(name: str, action: Callable[[], object]) -> None:
    """Call a function and print how long it took."""
    began = time.perf_counter()
    action()
    sys.stdout.write(f"{name:<18} {time.perf_counter() - began:6.1f} s\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
