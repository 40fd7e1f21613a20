"""Measure the CPU time of a million rows in windows: `python -m tests.support.spark_speed`."""

from __future__ import annotations

import json
import resource
import tempfile
from pathlib import Path

from headrace import Pipeline, connect, windows
from headrace.spark.gateway import end_jvm

FILES, ROWS, KEYS = 10, 100_000, 1000


def main() -> None:
    """Print the CPU time of Spark, start included."""
    with tempfile.TemporaryDirectory(prefix="headrace-speed-") as place:
        _run(Path(place))
        end_jvm()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"CPU time: {used.ru_utime + used.ru_stime:.0f} s")


def _run(work: Path) -> None:
    (work / "in").mkdir()
    for number in range(FILES):
        lines = ({"k": n * 7 % KEYS, "v": n, "t": (number * ROWS + n) // 1000} for n in range(ROWS))
        (work / "in" / f"{number}.json").write_text("\n".join(map(json.dumps, lines)))
    pipeline = Pipeline("speed")
    source = connect.files(path=work / "in", format="json", max_files_per_batch=1)
    rows = pipeline.read("rows", source, schema="k int, v int, t bigint")
    timed = rows.with_columns(ts="timestamp_seconds(t)").event_time("ts")
    panes = timed.key_by("k").window(windows.tumbling("10 seconds"))
    panes.aggregate("totals", n="count(*)", total="sum(v)").write(
        "out", connect.files(path=work / "out", format="json")
    )
    pipeline.run(until="drained", checkpoint=work / "checkpoint", master="local[2]", progress=False)
    written = [line for file in (work / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert sum(json.loads(line)["n"] for line in written) == FILES * ROWS


if __name__ == "__main__":
    main()
