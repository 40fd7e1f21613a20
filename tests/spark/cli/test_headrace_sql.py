"""The SQL shell: results in each form, and its use in a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_script_prints_json_lines_without_a_terminal(here: Path) -> None:
    (here / "shop.sql").write_text(DECLARED + QUERY)
    command = [sys.executable, "-m", "headrace.cli.app", "sql", "-f", "shop.sql"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(rows, key=str) == [{"auction": 1, "total": 14}, {"auction": 2, "total": 7}]
