"""Tables are read while a client writes to them and runs are killed: every change once, every row once.

CI runs a sample; `make delivery` kills twenty times and writes docs/explanation/changes-table.md.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.testing.delivery.sinks import kill_at_random
from tests.services import following

KILLED = -9
STEPS = (
    "cdc.recorded", "cdc.created", "cdc.completed", "delivery.staged@1", "delivery.committed@1", "cdc.confirming@1",
    "cdc.confirmed@1", "cdc.confirming@2", "delivery.staged@4", "delivery.committed@5",
)  # fmt: skip
SINKS = {
    "copy": "the changes, applied by key",
    "history": "the changes, one by one",
    "visits": "new rows of a table",
}
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "changes-table.md"


def start_run(server: Any, name: str, work: Path, step: str | None = None) -> subprocess.Popen[bytes]:
    """Start a run, perhaps one that is killed at a step; its output goes to a file, for failures."""
    settings = {} if step is None else {"HEADRACE_FAILPOINT": step}
    with (work / "output.txt").open("ab") as output:
        command = [sys.executable, following.__file__, server.url, name, str(work)]
        return subprocess.Popen(
            command, stdout=output, stderr=output, start_new_session=True, env={**os.environ, **settings}
        )


def epochs(work: Path) -> int:
    """Return the number of started epochs, from the last epoch: Spark deletes the files of old ones."""
    queries = work.glob("checkpoint/queries/*/spark/offsets")
    numbers = [[int(path.name) for path in query.glob("[0-9]*")] for query in queries]
    return sum(max(some, default=-1) + 1 for some in numbers)


def run_and_kill(server: Any, name: str, work: Path, steps: Sequence[str], kills: int) -> following.Writer:
    """Kill runs after steps and at random during writes; then run once more, after the last write."""
    with following.Writer(server, name, work) as writer:

        def run(step: str | None = None) -> subprocess.Popen[bytes]:
            writer.more()
            return start_run(server, name, work, step)

        for step in steps:
            status = run(step).wait()
            assert status == KILLED, f"{step}: {(work / 'output.txt').read_text()[-3000:]}"
            print(f"killed after {step}", flush=True)
        done = 0
        while done < kills:  # a run may end before its moment comes
            done += kill_at_random(run, lambda: epochs(work), kills=kills - done, within=3.0)
            print(f"killed {done} times at random, in {epochs(work)} epochs so far", flush=True)
    assert start_run(server, name, work).wait() == 0, (work / "output.txt").read_text()[-3000:]
    return writer


def faults(server: Any, name: str, work: Path, writer: following.Writer) -> dict[str, tuple[int, int]]:
    """Rows lost and doubled in each sink."""
    orders = Counter(server.sql(f"SELECT id, v FROM {name}_orders"))
    copied = Counter(server.sql(f"SELECT id, v FROM {name}_copy"))
    made = Counter(server.sql(f"SELECT id FROM {name}_visits"))
    with closing(sqlite3.connect(work / "out.db")) as database:
        # A transaction changes a row once in each way: what is there twice under one position is a double.
        changes = Counter(op for [op] in database.execute("SELECT op FROM history GROUP BY op, id, lsn"))
        [[rows]] = database.execute("SELECT count(*) FROM history")
        visits = Counter(database.execute("SELECT id FROM visits").fetchall())
    done = Counter({**writer.done, "snapshot": following.FIRST})
    changes["again"] = rows - changes.total()
    pairs = {"copy": (orders, copied), "history": (done, changes), "visits": (made, visits)}
    return {
        sink: ((wanted - held).total(), (held - wanted).total()) for sink, (wanted, held) in pairs.items()
    }


def test_killed_during_writes(tmp_path: Path, servers: Callable[[str], Any]) -> None:
    server = servers("postgres")
    writer = run_and_kill(server, "sample", tmp_path, ["cdc.created"], kills=1)
    assert faults(server, "sample", tmp_path, writer) == dict.fromkeys(SINKS, (0, 0))
    assert min(writer.visits, writer.done["delete"], epochs(tmp_path)) > 4


def main() -> None:
    """Every step and random kills; writes the table of the documentation."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    kills = parser.parse_args().kills
    from tests.support.servers import started as server_of

    with tempfile.TemporaryDirectory(prefix="headrace-changes-") as place, server_of("postgres") as server:
        work = Path(place)
        writer = run_and_kill(server, "whole", work, STEPS, kills)
        counts = {
            "copy": len(server.sql("SELECT 1 FROM whole_copy")),
            "history": following.FIRST + writer.done.total(),
            "visits": writer.visits,
        }
        actual = faults(server, "whole", work, writer)
    lines = [
        f"| {sink} | {SINKS[sink]} | {counts[sink]} | {lost}, {doubled} |"
        for sink, (lost, doubled) in actual.items()
    ]
    PAGE.write_text("\n".join([*_words(kills), *lines]) + "\n")
    print(PAGE.read_text())


def _words(kills: int) -> list[str]:
    return [
        "# Exactly-once sources, measured",
        "",
        "A pipeline reads two PostgreSQL tables under a constant load of writes: inserts, updates and "
        "deletes of",
        f"one by CDC, new rows of the other by a cursor column. It was killed after {len(STEPS)} steps of "
        "reading the",
        f"slot and delivering, and {kills} times at random with SIGKILL, and restarted each time. `make "
        "delivery` repeats",
        "the measurement and writes this page.",
        "",
        "| sink | contents | rows | lost, duplicated |",
        "|---|---|---|---|",
    ]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    main()
