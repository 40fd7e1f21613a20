"""Runs from Python show their progress on a terminal, in notebooks, or if `progress=True`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from headrace import Pipeline, connect
from headrace.runtime.options import RunOptions
from headrace.runtime.progress.live import _is_shown


def build() -> Pipeline:
    pipeline = Pipeline("shown")
    rows = pipeline.read("rows", connect.memory(rows=[{"v": 1}, {"v": 2}]), schema="v int")
    rows.write("out", connect.memory())
    return pipeline


def test_progress_shows_what_is_under_way_and_the_last_status(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build().run(until="caught_up", checkpoint=tmp_path, progress=True)
    printed = capsys.readouterr().err
    assert "starting Spark" in printed
    assert "planning" in printed
    assert "in 2" in printed.splitlines()[-1]
    assert "shown caught up" in printed


def test_progress_is_off_without_a_terminal(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build().run(until="caught_up", checkpoint=tmp_path)
    assert capsys.readouterr().err == ""


def test_progress_is_a_choice_of_the_options_then_of_the_terminal() -> None:
    terminal, file = Console(force_terminal=True), Console(force_terminal=False)
    assert _is_shown(RunOptions(), terminal)
    assert not _is_shown(RunOptions(), file)
    assert _is_shown(RunOptions(progress=True), file)
    assert not _is_shown(RunOptions(progress=False), terminal)
