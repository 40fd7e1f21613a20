"""The SQL shell in a terminal: completion, a result that updates in place, Ctrl-C, and the history."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

SECONDS = 180
"""The deadline of each step; the first query waits for Spark."""
COUNTER = "CREATE SOURCE counter WITH (connector = 'generator', rate = 50, columns.n = 'sequence');"
UP = "\x1b[A"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn]:
    environment = os.environ | {"HEADRACE_SQL_HISTORY": str(tmp_path / "history"), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "headrace.cli.app", "sql", "--conf", "spark.sql.shuffle.partitions=1"],
        cwd=tmp_path,
        env=environment,
        dimensions=(30, 120),
        encoding="utf-8",
        timeout=SECONDS,
    )
    yield child
    child.close(force=True)


def test_the_shell_in_a_terminal(terminal: pexpect.spawn, tmp_path: Path) -> None:
    terminal.expect("sql> ")
    terminal.send(f"{COUNTER}\r")
    terminal.expect("source counter declared")

    terminal.expect("sql> ")
    terminal.send("DESCR\t coun\t;\r")
    terminal.expect("append: rows are only added")

    terminal.expect("sql> ")
    terminal.send("SELECT count(*) AS total\r")  # no semicolon yet
    terminal.expect(r"\.\.\.> ")
    terminal.send("FROM counter;\r")
    terminal.expect("Ctrl-C ends the query")
    counts: list[int] = []
    while len(set(counts)) < 2:  # the result updates in place
        terminal.expect(r"total[^\d]*\s(\d+)\s")
        counts.append(int(terminal.match.group(1)))
    assert counts == sorted(counts)

    terminal.sendintr()
    terminal.expect("1 row")
    terminal.expect("sql> ")
    terminal.send(UP)
    terminal.expect("FROM counter;")
    terminal.sendintr()  # clears the input
    terminal.send("SHOW SOURCES;\r")
    terminal.expect("counter")
    terminal.send("\\quit\r")
    terminal.expect(pexpect.EOF)
    assert "SHOW SOURCES;" in (tmp_path / "history").read_text()
