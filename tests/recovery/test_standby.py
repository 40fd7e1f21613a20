"""A standby takes over from a run that is killed, and every row is written once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.waiting import TIMEOUT, wait_until

FILES = 8
ROWS = 50
PIPELINE = """
name: payments
sources:
  tx:
    files: {path: in, format: json, max_files_per_batch: 1, schema: "id int, card string, ts timestamp"}
    event_time: {column: ts, out_of_order: 1 second}
steps:
  totals: {from: tx, key_by: card, window: {tumbling: 10 seconds}, aggregate: {n: count(*)}}
sinks:
  rows: {from: tx, sqlite: {path: out.db, table: rows}}
  table: {from: totals, sqlite: {path: out.db, table: totals, key: [card, window]}}
"""


def test_standby_takes_over_from_a_killed_run_and_every_row_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "payments.yaml").write_text(PIPELINE)
    write_file(tmp_path, 0)
    with ExitStack() as processes:
        primary = processes.enter_context(run(tmp_path, "primary"))
        wait_until(lambda: ids(tmp_path) == expected(1))
        standby = processes.enter_context(run(tmp_path, "standby", "--standby"))
        waiting = f"standby: waiting for the run of process {primary.pid}"
        wait_until(lambda: waiting in [event["phase"] for event in events(tmp_path, "standby")])

        second = processes.enter_context(run(tmp_path, "second", "--standby"))
        assert second.wait(TIMEOUT) == 2
        assert f"another standby is waiting for the run (process {standby.pid})" in output(tmp_path, "second")

        for number in range(1, FILES):
            write_file(tmp_path, number)
        wait_until(lambda: len(ids(tmp_path)) > ROWS)
        primary.kill()
        wait_until(lambda: sorted(set(ids(tmp_path))) == expected(FILES))
        standby.send_signal(signal.SIGINT)
        assert standby.wait(TIMEOUT) == 0, output(tmp_path, "standby")
    assert ids(tmp_path) == expected(FILES)
    summary = events(tmp_path, "standby")[-1]
    assert summary["ending"] == "stopped"
    assert summary["balanced"]
    took_over = f"the run of process {primary.pid} failed or was killed; this standby took over"
    assert summary["warnings"] == [took_over]
    assert f"warning: {took_over}" in output(tmp_path, "standby")
    assert sum(n for (n,) in select(tmp_path, "select n from totals")) <= FILES * ROWS


def write_file(work: Path, number: int) -> None:
    """Add a file of payments, whole at once."""
    rows = [
        {
            "id": id_,
            "card": f"c{id_ % 3}",
            "ts": f"2026-03-02T09:{id_ // 60:02}:{id_ % 60:02}Z",
        }
        for id_ in range(number * ROWS, (number + 1) * ROWS)
    ]
    draft = work / f"{number}.draft"
    draft.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    draft.rename(work / "in" / f"{number:03}.json")


def expected(files: int) -> list[int]:
    return list(range(files * ROWS))


def ids(work: Path) -> list[int]:
    return [id_ for (id_,) in select(work, "select id from rows order by id")]


def select(work: Path, query: str) -> list[Any]:
    with suppress(sqlite3.OperationalError), sqlite3.connect(work / "out.db") as database:  # no table yet
        return database.execute(query).fetchall()
    return []


@contextmanager
def run(work: Path, name: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the pipeline from the command line; its output goes to files."""
    command = [sys.executable, "-m", "headrace.cli.app", "run", "payments.yaml", "--master", "local[2]"]
    command += ["--status-every", "1 second", *(["--json"] if name == "standby" else []), *options]
    with (work / f"{name}.txt").open("wb") as err, (work / f"{name}.jsonl").open("wb") as out:
        process = subprocess.Popen(command, cwd=work, stdout=out, stderr=err, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def output(work: Path, name: str) -> str:
    return (work / f"{name}.txt").read_text()


def events(work: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (work / f"{name}.jsonl").read_text().splitlines()]
