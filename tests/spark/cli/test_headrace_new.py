"""Everything that `headrace new` makes runs: the pipeline, its twin, its tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import get_args

import pytest
from pyspark.sql import SparkSession

from headrace.cli.app import main
from headrace.cli.new import Template


def called(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert not ended.value.code


@pytest.mark.parametrize("template", get_args(Template))
def test_a_new_project_runs_and_its_tests_pass(
    spark: SparkSession,
    template: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    called("new", "mine", "--template", template)
    monkeypatch.chdir(tmp_path / "mine")
    commands = [line.split("#")[0].split() for line in Path("README.md").read_text().splitlines()]
    for command in (command for command in commands if command[:1] == ["headrace"]):
        called(*command[1:])
    capsys.readouterr()
    called("run", "pipeline.yaml", "--finish", "--json", "--checkpoint", "again")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows_in"] > 0
