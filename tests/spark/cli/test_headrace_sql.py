"""The SQL shell: results in each form, and its use in a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pyte
import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.cli.shell.display import Format
from headrace.cli.shell.engine import Engine
from headrace.cli.shell.session import Session
from headrace.cli.shell.shell import Shell
from headrace.errors import HeadraceError

DECLARED = """
CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 'in/', format = 'json');
CREATE VIEW totals AS
  SELECT auction, window_start, sum(price) AS total FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)
  GROUP BY auction, window_start, window_end;
CREATE SINK large (auction BIGINT, total BIGINT, PRIMARY KEY (auction)) WITH (connector = 'memory', name = 'shell');
"""
ROWS = [(1, 5, 1), (2, 7, 2), (1, 9, 3)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    lines = (f'{{"auction": {a}, "price": {p}, "ts": "2026-03-02T09:00:0{s}Z"}}\n' for a, p, s in ROWS)
    (tmp_path / "in" / "bids.json").write_text("".join(lines))
    return tmp_path


def shell(format_: Format = "json") -> Shell:
    created = Shell(Session(), Engine(), format_)
    created.execute(DECLARED)
    return created


QUERY = "SELECT auction, total FROM totals WHERE total > 6;"


@pytest.mark.parametrize("format_", ["json", "csv", "table"])
def test_query_over_files_prints_its_rows_and_ends(
    spark: SparkSession, here: Path, capfd: pytest.CaptureFixture[str], format_: Format
) -> None:
    shell(format_).execute(QUERY)
    lines = capfd.readouterr().out.splitlines()
    if format_ == "json":
        assert sorted(lines) == ['{"auction":1,"total":14}', '{"auction":2,"total":7}']
    elif format_ == "csv":
        assert (lines[0], sorted(lines[1:])) == ("auction,total", ["1,14", "2,7"])
    else:
        assert lines[0].split() == ["auction", "total"]
        assert lines[-1] == "2 rows"
        assert sorted(line.split() for line in lines[2:-1]) == [["1", "14"], ["2", "7"]]


def test_insert_writes_in_the_foreground(
    spark: SparkSession, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = connect.memory(name="shell")
    store.clear()
    shell().execute("INSERT INTO large SELECT auction, total FROM totals WHERE total > 10;")
    assert store.contents() == [{"auction": 1, "total": 14}]
    assert "large: 1 row written" in capfd.readouterr().err
    assert not (here / ".headrace").exists()


def test_insert_with_a_checkpoint_resumes(spark: SparkSession, here: Path) -> None:
    store = connect.memory(name="shell")
    store.clear()
    script = "SET 'checkpoint' = 'kept'; SET 'until' = 'caught_up'; INSERT INTO large SELECT auction, price FROM bid;"
    shell().execute(script)
    store.clear()
    shell().execute(script)
    assert store.contents() == []
    assert (here / "kept").is_dir()


def test_failed_run_is_an_error_and_the_shell_goes_on(
    spark: SparkSession, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    created = shell()
    with pytest.raises(HeadraceError):
        created.execute("SELECT raise_error('broken') AS e FROM bid;")
    assert created.run_failed
    created.session.enter("\n\n")
    with pytest.raises(HeadraceError) as caught:
        created.execute(
            "CREATE SOURCE n WITH (connector = 'generator', rows = 3, columns.n = 'sequence');\nSELECT m FROM n;"
        )
    assert not caught.value.where.startswith("sql:")
    created.execute(QUERY)
    assert '{"auction":2,"total":7}' in capfd.readouterr().out


class Terminal:
    """A shell in a terminal of 40 lines, with the screen that its user sees."""

    def __init__(self, directory: Path) -> None:
        self.screen = pyte.Screen(110, 40)
        self._stream = pyte.ByteStream(self.screen)
        environment = {**os.environ, "TERM": "xterm", "HEADRACE_SQL_HISTORY": str(directory / "history")}
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "headrace.cli.app", "sql", "--master", "local[2]"],
            cwd=str(directory),
            env=environment,
            dimensions=(40, 110),
        )
        self.screen.write_process_input = self.child.send  # type: ignore[method-assign]  # answers requests for the place of the cursor

    def type(self, text: str) -> None:
        self.child.send(text)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait(self, pattern: str, seconds: float = 180) -> re.Match[str]:
        """Wait until the screen matches."""
        deadline = time.monotonic() + seconds
        while True:
            if match := re.search(pattern, self.text(), re.MULTILINE):
                return match
            assert time.monotonic() < deadline, f"no {pattern!r} on the screen:\n{self.text()}"
            try:
                self._stream.feed(self.child.read_nonblocking(65536, timeout=1))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                pytest.fail(f"the shell has ended:\n{self.text()}")

    def expect_end(self) -> int:
        self.child.expect(pexpect.EOF, timeout=60)
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -1)


@pytest.fixture
def terminal(here: Path) -> Iterator[Terminal]:
    started = Terminal(here)
    yield started
    started.child.close(force=True)


def test_shell_in_a_terminal(terminal: Terminal, here: Path) -> None:
    terminal.wait(r"^sql>")
    # Completion of a connector and of a table, over several lines.
    terminal.type("CREATE SOURCE n (n BIGINT) WITH (connector = 'gen\t")
    terminal.wait(r"connector = 'generator")
    terminal.type("', rate = 50,\r")
    terminal.wait(r"^\.\.\.>")
    terminal.type("columns.n = 'sequence');\r")
    terminal.wait(r"source n declared")
    # A refused statement has its place, and the shell goes on.
    terminal.type("SELECT m FROM n;\r")
    terminal.wait(r"error: 1:8: unknown column `m`")
    # A live result updates in place until Ctrl-C, which ends the query and not the shell.
    terminal.type("SELECT k, count(*) AS c FROM (SELECT n % 2 AS k FROM n) AS v GROUP BY k;\r")
    first = int(terminal.wait(r"^\s*0\s+(\d+)")[1])
    terminal.wait(r"Ctrl-C ends the query")
    deadline = time.monotonic() + 120
    while int(terminal.wait(r"^\s*0\s+(\d+)")[1]) <= first:
        assert time.monotonic() < deadline, terminal.text()
        terminal._stream.feed(terminal.child.read_nonblocking(65536, timeout=60))
    terminal.wait(r"^\s*k\s+c\s*$")
    assert len(re.findall(r"^\s*k\s+c\s*$", terminal.text(), re.MULTILINE)) == 1
    terminal.child.sendintr()
    terminal.wait(r"^2 rows\s*\n(.*\n)*?sql>\s*\Z")
    # An input that ends: the table is printed once.
    terminal.type(
        "CREATE SOURCE bid (auction BIGINT) WITH (connector = 'files', path = 'in/', format = 'json');\r"
    )
    terminal.wait(r"source bid declared")
    terminal.type("SELECT auction FROM bid WHERE auction > 1;\r")
    terminal.wait(r"^1 row\s*$")
    # Commands and history.
    terminal.type("\\changes\r")
    terminal.wait(r"results show changes")
    terminal.type("\x1b[A\x1b[A")
    terminal.wait(r"sql> SELECT auction FROM bid WHERE auction > 1;\s*\Z")
    terminal.child.sendintr()
    terminal.wait(r"sql>\s*\Z")
    terminal.type("\\quit\r")
    assert terminal.expect_end() == 0
    history = here / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "SELECT auction FROM bid WHERE auction > 1;" in history.read_text()


def test_script_prints_json_lines_without_a_terminal(here: Path) -> None:
    (here / "shop.sql").write_text(DECLARED + QUERY)
    command = [sys.executable, "-m", "headrace.cli.app", "sql", "-f", "shop.sql"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(rows, key=str) == [{"auction": 1, "total": 14}, {"auction": 2, "total": 7}]
