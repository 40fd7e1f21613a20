"""Python workers that die lose nothing; the error names the step and the rows of the batch.

CI kills a sample; `python -m tests.spark.code.test_worker_kills` kills twenty.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, Processor, connect, state
from headrace.errors import UserCodeError

ROWS_OF_FILE = 20
SCHEMA = "k string, n int"


class Deaths:
    """Kills the worker at given rows, once each."""

    def __init__(self, directory: str, rows: frozenset[int]) -> None:
        self._directory = Path(directory)
        self._rows = rows

    def __call__(self, n: int) -> None:
        marker = self._directory / f"died-{n}"
        if n in self._rows and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL) if n % 3 else os._exit(3)


class Totals(Processor):
    """The sum of each key."""

    output = "k string, n int, total int"
    total: int = state.value(0)

    def __init__(self, die: Callable[[int], None]) -> None:
        self._die = die

    def process(self, row: Any) -> Iterator[tuple[str, int, int]]:
        self._die(row.n)
        self.total += row.n
        yield row.k, row.n, self.total


def build(directory: Path, of_map: frozenset[int], of_process: frozenset[int]) -> Pipeline:
    """Return a pipeline whose function and processor kill their workers."""
    die_in_map, die_in_process = Deaths(str(directory), of_map), Deaths(str(directory), of_process)

    def same(row: Any) -> tuple[str, int]:
        die_in_map(row.n)
        return row.k, row.n

    pipeline = Pipeline("kills")
    source = connect.files(path=str(directory / "in"), max_files_per_batch=1)
    mapped = pipeline.read("rows", source, format="json", schema=SCHEMA).map("same", same, output=SCHEMA)
    step = mapped.key_by("k").process("totals", Totals(die_in_process))
    step.write("out", connect.files(path=str(directory / "out"), format="json"))
    return pipeline


def kill_workers(directory: Path, kills: int) -> list[UserCodeError]:
    """Run until the input is read, with this many deaths; return the errors. Every row must come once."""
    rows: list[dict[str, Any]] = [{"k": "abc"[n % 3], "n": n} for n in range(kills * ROWS_OF_FILE)]
    (directory / "in").mkdir()
    for number in range(kills):
        part = rows[number * ROWS_OF_FILE : (number + 1) * ROWS_OF_FILE]
        text = "".join(json.dumps(row) + "\n" for row in part)
        file = directory / "in" / f"{number:03}.jsonl"
        file.write_text(text)
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads files in the order of their times
    doomed = [number * ROWS_OF_FILE + 7 + number % 5 for number in range(kills)]
    pipeline = build(directory, frozenset(doomed[::2]), frozenset(doomed[1::2]))
    errors: list[UserCodeError] = []
    while True:
        try:
            pipeline.run(until="caught_up", checkpoint=directory / "checkpoint", progress=False)
            break
        except UserCodeError as error:
            errors.append(error)
            assert len(errors) <= kills
    files = (directory / "out").glob("*.json")
    made = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    sums: dict[Any, Any] = {"a": 0, "b": 0, "c": 0}
    expected = []
    for row in rows:
        sums[row["k"]] += row["n"]
        expected.append((row["k"], row["n"], sums[row["k"]]))
    assert sorted((row["k"], row["n"], row["total"]) for row in made) == sorted(expected)
    assert len(errors) == kills
    return errors


def test_killed_workers_lose_nothing_and_the_error_names_step_and_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    first, second = kill_workers(tmp_path, 2)
    assert first.where.endswith("`same`")
    assert second.where.endswith("`totals`")
    for error in (first, second):
        assert error.what.startswith("the Python worker died on the rows rows/")
        assert "No row is lost" in error.hint


if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as place:
        kill_workers(Path(place), kills)
    print(f"{kills} workers died, every row came once")
