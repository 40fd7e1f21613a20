"""The SQL shell in a real terminal: completion, a result that updates, Ctrl-C, and the history."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

DECLARED = (
    "CREATE SOURCE bid (auction BIGINT, price INT) WITH (connector = 'files', path = 'in/', format = 'json'); "
    "CREATE VIEW totals AS SELECT auction, sum(price) AS total FROM bid GROUP BY auction;"
)
KEY_UP = "\x1b[A"
SECONDS = 240
"""The time for Spark to start on a slow machine."""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn[str]]:
    (tmp_path / "in").mkdir()
    add(tmp_path, "first", 5)
    environment = {**os.environ, "HEADRACE_SQL_HISTORY": str(tmp_path / "history"), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "headrace.cli.app", "sql"],
        cwd=str(tmp_path),
        env=environment,
        dimensions=(40, 160),
        encoding="utf-8",
        timeout=SECONDS,
    )
    child.ptyproc.delayafterterminate = 10  # Java ends after Python
    try:
        yield child
    finally:
        child.close(force=True)


def add(directory: Path, name: str, price: int) -> None:
    hidden = directory / f".{name}"
    hidden.write_text(f'{{"auction": 1007, "price": {price}}}\n')
    hidden.rename(directory / "in" / f"{name}.json")


def shown(text: str) -> str:
    """Return the expression of a text, whose parts the terminal may draw one after the other."""
    return r"(?:\x1b\[[?\d;]*[a-zA-Z])*".join(map(re.escape, text))


def test_shell_completes_updates_a_result_and_survives_ctrl_c(
    terminal: pexpect.spawn[str], tmp_path: Path
) -> None:
    terminal.expect("sql>")
    terminal.send(f"{DECLARED}\r")
    terminal.expect("view totals declared")
    terminal.send("SET 'until' = 'stopped';\r")
    terminal.expect("sql>")

    terminal.send("SELECT auction, tot\t")
    terminal.expect(shown("total"))
    terminal.send(" FROM totals;\r")
    terminal.expect(r"1007 .*\b5\b")
    add(tmp_path, "second", 31)
    terminal.expect(r"1007 .*\b36\b")

    terminal.sendintr()
    terminal.expect("sql>")
    terminal.send("SHOW VIEWS;\r")
    terminal.expect("totals")
    terminal.expect("sql>")

    terminal.send(KEY_UP * 2)
    terminal.expect(shown("SELECT auction, total FROM totals;"))
    terminal.sendintr()  # clears the input
    terminal.send("\\quit\r")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert "+SELECT auction, total FROM totals;" in (tmp_path / "history").read_text()
