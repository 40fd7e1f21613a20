"""Everything that `headrace new` makes runs: the pipeline, its twin, its tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from pyspark.sql import SparkSession

from headrace.cli.app import main
from headrace.cli.commands.new import Template


def call(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert not ended.value.code


@pytest.mark.parametrize("template", [name for name in get_args(Template) if name != "connector"])
def test_a_new_project_runs_and_its_tests_pass(
    spark: SparkSession,
    template: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    call("new", "mine", "--template", template)
    monkeypatch.chdir(tmp_path / "mine")
    commands = [line.split("#")[0].split() for line in Path("README.md").read_text().splitlines()]
    for command in (command for command in commands if command[:1] == ["headrace"]):
        call(*command[1:])
    capsys.readouterr()
    call("run", "pipeline.yaml", "--drain", "--json", "--checkpoint", "again")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows_in"] > 0


def test_a_new_connector_writes_and_survives_its_own_tests(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    call("new", "mine", "--template", "connector")
    monkeypatch.chdir(tmp_path / "mine")
    call("run", "pipeline.py", "--drain")
    [written] = [path for path in Path("results").glob("[!_]*.jsonl") if path.stat().st_size]
    assert json.loads(written.read_text())["id"] == "a"
    monkeypatch.syspath_prepend(str(Path.cwd()))
    with monkeypatch.context() as patch:
        # The session of the tests serves: a project's own tests start one, and two in a process can't be.
        patch.setattr("headrace.spark.session.open_session", lambda *_, **__: spark)
        tests: dict[str, Any] = {}
        exec(Path("tests/test_delivery.py").read_text(), tests)
        tests["test_every_row_once"](tmp_path / "trials")
