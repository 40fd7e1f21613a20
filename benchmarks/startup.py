"""A small word count from start to end: plain PySpark, Headrace with its own JVM, and in a warm session.

    python -m benchmarks startup [--runs 5]

Every run is a process of its own, in a directory of its own; the contenders alternate, and all of them write the
same counts into a SQLite table. The first warm run is reported apart: its JVM has not run a query yet.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

LINES = "to be or not to be that is the question\n" * 50
WORDS = "explode(split(value, ' ')) as word"
PYSPARK = f'''
import sqlite3
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2) \\
    .config("spark.ui.enabled", False).getOrCreate()
def write(batch, epoch):
    with sqlite3.connect("counts.db") as database:
        database.execute("create table if not exists counts (word text primary key, n integer)")
        database.executemany("insert or replace into counts values (?, ?)", [tuple(row) for row in batch.collect()])
lines = spark.readStream.text("in")
counts = lines.selectExpr("{WORDS}").groupBy("word").count()
query = counts.writeStream.outputMode("update").option("checkpointLocation", "checkpoint").foreachBatch(write)
query.trigger(availableNow=True).start().awaitTermination()
'''
HEADRACE = f"""
from headrace import Pipeline, connect
counting = Pipeline("counts")
words = counting.read("lines", connect.files(path="in"), format="text").select("{WORDS}", step_name="words")
counts = words.key_by("word").aggregate("counts", n="count(*)")
counts.write("out", connect.sqlite(path="counts.db", table="counts", key=["word"]))
counting.run(until="caught_up", master="local[2]")
"""
COLD, WARM = {"HEADRACE_WARM": "off"}, {"HEADRACE_WARM": "on"}


def run(place: Path, script: str, environment: dict[str, str]) -> float:
    """Run a script in an emptied directory, check its counts and return the seconds it took."""
    for name in ("counts.db", "counts.db-journal"):
        (place / name).unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", "checkpoint", ".headrace"], cwd=place, check=True)
    began = time.perf_counter()
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=place, env={**os.environ, **environment}, check=True, capture_output=True)
    seconds = time.perf_counter() - began
    with sqlite3.connect(place / "counts.db") as database:
        actual = dict(database.execute("select word, n from counts"))
    expected = {word: LINES.split().count(word) for word in LINES.split()}
    if actual != expected:
        raise SystemExit(f"expected {expected}, got {actual}")
    return seconds


def main() -> None:
    """Measure and print the medians and their ratios to plain PySpark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    contenders = {"plain PySpark": (PYSPARK, COLD), "own JVM": (HEADRACE, COLD), "warm": (HEADRACE, WARM)}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    with TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "in").mkdir()
        (place / "in" / "lines.txt").write_text(LINES)
        headrace = [sys.executable, "-m", "headrace.cli.app"]
        subprocess.run([*headrace, "warm", "--master", "local[2]"], cwd=place, check=True)
        try:
            first = run(place, HEADRACE, WARM)
            for _ in range(options.runs):
                for name, (script, environment) in contenders.items():
                    seconds[name].append(run(place, script, environment))
                    sys.stderr.write(f"{name}: {seconds[name][-1]:.2f} s\n")
        finally:
            subprocess.run([*headrace, "warm", "--stop"], cwd=place, check=True)
    base = statistics.median(seconds["plain PySpark"])
    for name, times in {**seconds, "first warm run": [first]}.items():
        median = statistics.median(times)
        sys.stdout.write(f"{name}: {median:.2f} s, {median / base:.2f} of plain PySpark\n")


if __name__ == "__main__":
    main()
