"""A live join of two tables is killed again and again; its table in PostgreSQL ends equal to a batch join.

CI kills it a few times; `python -m tests.services.databases.test_live_join` does so 20 times.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.services.databases import live_join

from headrace.testing.delivery.sinks import kill_at_random

SAMPLE = 2


def kill_and_compare(server: Any, table: str, work: Path, kills: int) -> int:
    """Kill runs in the middle of epochs, run to the end, compare every row, and return the number of kills."""
    written = live_join.write_input(work, files=kills + 2)

    def start() -> subprocess.Popen[bytes]:
        with (work / "output.txt").open("ab") as output:
            command = [sys.executable, live_join.__file__, server.url, table, str(work)]
            return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)

    drained = work / "checkpoint" / "drained"
    killed = kill_at_random(start, lambda: _epochs(work), finished=drained.exists, kills=kills, seed=3)
    rows = server.sql(f"SELECT id, customer, total, name FROM {table} ORDER BY id")
    assert [tuple(row) for row in rows] == live_join.batch_join(written), (work / "output.txt").read_text()[
        -3000:
    ]
    return killed


def _epochs(work: Path) -> int:
    return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))


def test_after_kills_the_table_equals_a_batch_join(
    servers: Callable[[str], Any], table: str, tmp_path: Path
) -> None:
    assert kill_and_compare(servers("postgres"), table, tmp_path, SAMPLE) >= 1


def main() -> None:
    from tests.support.servers import started

    with started("postgres") as server, tempfile.TemporaryDirectory() as work:
        print(f"{kill_and_compare(server, 'named', Path(work), 20)} kills, every row equal")


if __name__ == "__main__":
    main()
