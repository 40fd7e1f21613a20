"""The pipeline that recovery tests kill.

Three stateful steps, one of them in the kernel with row accounting, seven sinks of three kinds, dead letters,
an exchange.

Run as `python payments.py WORK`: reads WORK/in, one file a batch, and finishes.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path

from deltalake import DeltaTable

from headrace import Pipeline, connect, windows
from headrace.checkpoints.journal import read_lines
from headrace.runtime.progress.row_accounting import RowAccounting

FILES = 3
ROWS = 60
CARDS = ("4571", "4572", "4573")


def write_input(work: Path, seed: int = 7) -> None:
    """Payments in disorder of less than ten seconds, and a few lines that are no JSON."""
    chance = random.Random(seed)
    (work / "in").mkdir(parents=True)
    for number in range(FILES):
        lines = []
        for row in range(ROWS):
            second = number * ROWS + row - chance.randrange(10) + 10
            payment = {
                "card": chance.choice(CARDS),
                "amount": chance.randrange(1, 900),
                "ts": 1_700_000_000 + second,
            }
            lines.append(json.dumps(payment))
        lines.insert(chance.randrange(ROWS), f"broken {number}")
        file = work / "in" / f"{number:03d}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (number, number))  # Spark reads files of the same millisecond in any order


def build(work: Path) -> Pipeline:
    """The pipeline over a working directory."""
    pipeline = Pipeline("payments")
    source = connect.files(path=str(work / "in"), max_files_per_batch=1)
    tx = pipeline.read("tx", source, format="json", schema="card string, amount int, ts bigint")
    timed = tx.with_columns(ts="timestamp_seconds(ts)").event_time("ts", out_of_order="10 seconds")
    minute = timed.key_by("card").window(windows.tumbling("20 seconds"), engine="native")
    totals = minute.aggregate("totals", n="count(*)", total="sum(amount)")
    every_minute = totals.window(windows.tumbling("1 minute"), engine="native")

    def table(name: str, *key: str) -> connect.sqlite:
        return connect.sqlite(path=str(work / "out.db"), table=name, key=list(key))

    totals.write("totals_table", table("totals", "card", "window"))
    totals.write("totals_files", connect.files(path=str(work / "totals"), format="json"))
    totals.write("totals_lake", connect.delta(path=work / "lake" / "totals", partition_by="card"))
    sums = every_minute.aggregate("sums", n="sum(n)")
    sums.write("sums_files", connect.files(path=str(work / "sums"), format="csv"))
    sums.write("sums_lake", connect.delta(path=work / "lake" / "sums", key="window"))
    sevens = timed.key_by("card").window(windows.count(7)).aggregate("sevens", total="sum(amount)")
    sevens.write("sevens_files", connect.files(path=str(work / "sevens"), format="json"))
    tx.where("amount > 800").write("big", table("big"))
    return pipeline


def results(work: Path) -> dict[str, list[str]]:
    """Every row that the run has written, sorted, by where it is."""
    actual: dict[str, list[str]] = {}
    with sqlite3.connect(work / "out.db") as database:
        for name in ("totals", "big"):
            actual[name] = sorted(map(str, database.execute(f"select * from {name}")))
    for name in ("totals", "sums"):
        actual[f"lake/{name}"] = list(
            map(str, DeltaTable(work / "lake" / name).to_pyarrow_table().to_pylist())
        )
    for name in ("totals", "sums", "sevens", "checkpoint/unrouted/tx.dead_letters"):
        paths = [
            path for path in (work / name).rglob("*") if path.is_file() and "_headrace" not in path.parts
        ]
        actual[name + "/"] = sorted(line for path in paths for line in path.read_text().splitlines())
    return {name: sorted(_comparable(row, work) for row in rows) for name, rows in actual.items()}


def accountings(work: Path) -> dict[str, RowAccounting]:
    """The row accounting of each step over all runs, and of the last run as `step (last run)`."""
    file = work / "accounting.json"  # missing if the last run was killed after it had drained the pipeline
    last_run = json.loads(file.read_text()) if file.exists() else {}
    actual = {f"{step} (last run)": RowAccounting(**counts) for step, counts in last_run.items()}
    for log in work.glob("checkpoint/queries/*/row_accounting.jsonl"):
        line = list(read_lines(log))[-1]
        actual[str(line["step"])] = RowAccounting.between({}, dict(line["sum"]))
    return actual


def _comparable(row: str, work: Path) -> str:
    """Remove positions and times of dead letters, which differ between runs."""
    return row.replace(str(work), "WORK").split(',"read_at"')[0]


def _end_spark() -> None:
    """Wait until the JVM has ended too: it may have to write down the classes it loaded."""
    from pyspark import SparkContext

    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
    jvm.stdin.close()
    jvm.wait()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with build(place).start(until="drained", checkpoint=place / "checkpoint", master="local[2]") as running:
        running.wait()
        steps = {step: asdict(counts) for step, counts in running.status().steps.items()}
    (place / "accounting.json").write_text(json.dumps(steps))
    _end_spark()
