"""The pipelines whose checkpoints are damaged; a kind has a source, and states from which a run continues."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from headrace import Pipeline, Stream, connect, windows
from headrace.connectors import failpoints
from headrace.errors import HeadraceError

CARDS = 5
ROWS = 12
"""Rows per file, or per message batch."""


class Kind(Protocol):
    """A pipeline, and its input in three parts: before the damage, in the run that ended, and after it."""

    name: str

    def feed(self, work: Path, part: int) -> None:
        """Make a part of the input available."""
        ...

    def build(self, work: Path) -> Pipeline: ...

    def results(self, work: Path) -> dict[str, list[str]]:
        """Return all rows that the sinks have, sorted, by sink."""
        ...


class FilesKind:
    """Files -> window -> running aggregate behind an exchange, lookup in a table that is reloaded, side outputs."""

    name = "files"

    def feed(self, work: Path, part: int) -> None:
        (work / "in").mkdir(parents=True, exist_ok=True)
        (work / "homes.csv").write_text("card,home\n" + "".join(f"c{n},city{n}\n" for n in range(CARDS)))
        for number in (2 * part, 2 * part + 1):
            file = work / "in" / f"{number:03d}.json"
            file.write_text("\n".join([*lines_of(number), f"broken {number}"]) + "\n")
            os.utime(file, (1_600_000_000 + number,) * 2)  # Spark reads files in the order of their times

    def build(self, work: Path) -> Pipeline:
        pipeline = Pipeline("payments")
        source = connect.files(path=str(work / "in"), max_files_per_batch=1)
        tx = pipeline.read("tx", source, format="json", schema="card string, amount int, ts bigint")
        homes = connect.files(path=str(work / "homes.csv"))
        schema = "card string, home string"
        known = tx.lookup("home", homes, on="card", format="csv", schema=schema, refresh="1 second")
        known.write("lines", connect.files(path=str(work / "lines"), format="json"))
        add_steps(tx, work)
        return pipeline

    def results(self, work: Path) -> dict[str, list[str]]:
        return results(work)


def lines_of(number: int) -> list[str]:
    """Return rows as JSON; those of each number are half a minute later than those of the number before."""
    rows = [
        {
            "card": f"c{(number * 7 + row) % CARDS}",
            "amount": 10 * number + row,
            "ts": 1_700_000_000 + 30 * number + 3 * row,
        }
        for row in range(ROWS)
    ]
    return [json.dumps(row) for row in rows]


def add_steps(tx: Stream, work: Path) -> None:
    """Add a window, a running aggregate that reads its exchange, and their sinks."""
    timed = tx.with_columns(ts="timestamp_seconds(ts)").event_time("ts", out_of_order="10 seconds")
    totals = timed.key_by("card").window(windows.tumbling("20 seconds"))
    sums = totals.aggregate("totals", n="count(*)", total="sum(amount)")
    sums.write(
        "totals_table", connect.sqlite(path=str(work / "out.db"), table="totals", key=["card", "window"])
    )
    running = sums.key_by("card").aggregate("running", total="sum(total)")
    running.write("running_table", connect.sqlite(path=str(work / "out.db"), table="running", key="card"))


def results(work: Path) -> dict[str, list[str]]:
    """Return the rows of the sinks of `add_steps`, and of sinks that write files."""
    rows: dict[str, list[str]] = {}
    with sqlite3.connect(work / "out.db") as database:
        for table in ("totals", "running"):
            rows[table] = sorted(map(str, database.execute(f"select * from {table}")))
    for directory in ("lines", "checkpoint/unrouted"):
        files = [
            file for file in (work / directory).rglob("*") if file.is_file() and "_headrace" not in file.parts
        ]
        # The time at which a dead letter was read differs between runs.
        rows[directory] = sorted(
            line.split(',"read_at"')[0] for file in files for line in file.read_text().splitlines()
        )
    return rows


KINDS: dict[str, Callable[[], AbstractContextManager[Kind]]] = {"files": lambda: nullcontext(FilesKind())}
"""A context of each kind of pipeline, which starts and ends the servers that it needs."""


def run(kind: Kind, work: Path, *, until: str) -> None:
    """Run a pipeline in the Spark session of this process."""
    with kind.build(work).start(until=until, checkpoint=work / "checkpoint") as running:  # type: ignore[arg-type]
        running.wait()


@contextmanager
def crash_at(step: str, count: int) -> Iterator[None]:
    """End the run inside the block as a kill would; nothing after the step is written."""
    with suppress(HeadraceError), failpoints.arm(step, count):
        yield
