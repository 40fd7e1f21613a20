"""Records a class archive: runs small pipelines in a JVM that stores its loaded classes when it ends.

This requires a separate process: `python -m headrace.devtools.class_archive FILE`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect, windows
from headrace.errors import SetupError
from headrace.spark.class_archive import RECORD, archive_path, store_archive
from headrace.spark.gateway import end_jvm
from headrace.spark.java import find_java
from headrace.spark.launch import spark_home
from headrace.spark.session import open_session

SCHEMA = "k string, v int, ts timestamp"


def record_archive(report: Callable[[str], None]) -> Path:
    """Record the archive of this Java, Spark and kernel, unless it exists, and return its file.

    Raises:
        SetupError: Java has stored no classes; the message quotes the process.
    """
    archive = archive_path(find_java(), spark_home())
    if archive.exists():
        return archive
    report("class archive: running small pipelines to record their classes; this takes about a minute")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as place:
        draft = Path(place) / archive.name
        command = [sys.executable, "-m", "headrace.devtools.class_archive", str(draft)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not draft.exists():
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise SetupError(
                f"Java stored no classes: {lines[-1] if lines else f'exit status {done.returncode}'}",
                where="class archive",
                hint="pipelines run without it; an OpenJDK that has its own class archive can store one",
            )
        store_archive(draft, archive)
    return archive


def run_pipelines(place: Path) -> None:
    """Run steps of several kinds, so that their classes are loaded."""
    rows = [{"k": f"k{n % 3}", "v": n, "ts": f"2026-01-01T00:{n:02}:00Z"} for n in range(10)]
    pipeline = Pipeline("archive")
    events = pipeline.read("events", connect.memory(rows=rows), schema=SCHEMA).event_time("ts")
    keyed = events.key_by("k")
    windowed = keyed.window(windows.tumbling("1 minute"))
    windowed.aggregate("counts", n="count(*)").write("files", connect.files(path=str(place), format="json"))
    others = events.where("v > 2", step_name="others")
    joined = events.join("pairs", others, on="k", within="2 minutes", select={"v": "left.v"})
    joined.write("pairs_out", connect.memory())
    keyed.latest("last").write("last_out", connect.memory(key=["k"]))
    events.map("doubled", _double, output="v int").write("doubled_out", connect.memory())
    pipeline.run(until="drained", checkpoint=place / "checkpoint", progress=False)


def _double(row: Any) -> int:
    return int(row.v) * 2


def main(draft: str) -> None:
    """Run pipelines in a JVM that stores its classes in a file when it ends."""
    with tempfile.TemporaryDirectory() as place:
        open_session("headrace-archive", conf={"spark.driver.extraJavaOptions": f'{RECORD}"{draft}"'})
        run_pipelines(Path(place))
        end_jvm()


if __name__ == "__main__":
    main(sys.argv[1])
