"""`headrace sql` with -e and -f: statements that need no Spark, and refused ones."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.cli.shell import prompt

Call = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]

DECLARED = """CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'memory');
CREATE VIEW counts AS SELECT auction, count(*) AS n FROM bid GROUP BY auction;
"""


def test_declarations_are_listed_and_described(call: Call, write: Write) -> None:
    write("s.sql", DECLARED)
    done = call("sql", "--init", "s.sql", "-e", "SHOW VIEWS", "-e", "DESCRIBE bid", "--format", "table")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "counts",
        "column   type       key",
        "auction  bigint",
        "price    int",
        "ts       timestamp",
        "append: rows are only added",
        "side output bid.dead_letters",
    ]


def test_description_is_data_with_json(call: Call, write: Write) -> None:
    write("s.sql", DECLARED)
    done = call("sql", "-f", "s.sql", "--format", "json")
    assert (done.returncode, done.stdout) == (0, "")
    described = json.loads(call("sql", "-i", "s.sql", "-e", "DESCRIBE counts").stdout)
    assert described["kind"] == "view"
    assert described["updating"] is True
    assert described["columns"][0] == {"column": "auction", "type": None, "key": True}


def test_explain_shows_the_steps_of_a_query(call: Call, write: Write) -> None:
    write("s.sql", DECLARED)
    done = call("sql", "-i", "s.sql", "-e", "EXPLAIN SELECT n FROM counts")
    assert done.returncode == 0, done.stderr
    assert "aggregate" in done.stdout
    assert "Queries" in done.stdout


def test_refused_statement_has_its_place_and_status_2(call: Call, write: Write) -> None:
    write("s.sql", DECLARED + "SELECT auctoin FROM bid;\nSELECT nosuch(price) FROM bid;\n")
    done = call("sql", "-f", "s.sql")
    assert done.returncode == 2
    assert "s.sql:4:8: unknown column `auctoin`" in done.stderr
    assert "s.sql:5:8: unknown function `nosuch`" in done.stderr
    assert "Spark" not in done.stderr


def test_refused_statement_of_an_option_has_its_place(call: Call) -> None:
    done = call("sql", "-e", "SELECT * FROM nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("error: -e:1:15: ")


def test_options_that_exclude_each_other_are_refused(call: Call, write: Write) -> None:
    write("s.sql", DECLARED)
    done = call("sql", "-f", "s.sql", "-e", "SHOW VIEWS")
    assert (done.returncode, "expected -e or -f, got both" in done.stderr) == (2, True)


def test_unknown_command_is_refused(call: Call) -> None:
    done = call("sql", "-e", "\\chnages")
    assert done.returncode == 2
    assert "unknown command `\\chnages`" in done.stderr


def test_help_lists_statements_and_commands(call: Call) -> None:
    done = call("sql", "-e", "\\help", "-e", "\\quit", "-e", "never executed")
    assert done.returncode == 0, done.stderr
    assert "INSERT INTO sink SELECT" in done.stdout
    assert "\\submit" in done.stdout


def test_submission_without_a_sink_is_refused(call: Call, write: Write) -> None:
    write("s.sql", DECLARED)
    done = call("sql", "-i", "s.sql", "-e", "\\submit shop")
    assert done.returncode == 2
    assert "nothing is written" in done.stderr


def test_history_can_be_read_by_its_user_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(prompt.HISTORY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = prompt.history_file()
    assert file == tmp_path / "state" / "headrace" / "sql_history"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    assert prompt.history_file().stat().st_mode & 0o777 == 0o600


def test_missing_extra_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util
    import sys

    find = importlib.util.find_spec
    missing = lambda name, *more: None if name == "prompt_toolkit" else find(name, *more)  # noqa: E731
    monkeypatch.setattr("headrace.connectors.extras.find_spec", missing)
    leader, follower = os.openpty()
    with os.fdopen(follower) as terminal, os.fdopen(leader):
        monkeypatch.setattr(sys, "stdin", terminal)
        done = call("sql")
    assert done.returncode == 1
    assert "pip install 'headrace[sql]'" in done.stderr
