"""The pytest plugin: which files are transcripts, and what their cases are called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.testing.transcripts.plugin import whole_files

CASE = """
name: %s
pipeline: {sources: {a: {memory: {}, schema: v int}}}
script: [expect: {a: []}]
"""


def collect(directory: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.slow
def test_files_are_taken_by_their_name_or_their_place(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nheadrace_transcripts = cases\n")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "deep.yaml").write_text(CASE % "placed")
    (tmp_path / "some.transcript.yaml").write_text(CASE % "named" + "---" + CASE % "named")
    (tmp_path / "other.yaml").write_text("a: 1")
    actual = collect(tmp_path)
    assert "cases/deep.yaml::placed" in actual
    assert "some.transcript.yaml::named\n" in actual
    assert "some.transcript.yaml::named (2)\n" in actual
    assert "3 tests collected" in actual


@pytest.mark.slow
def test_a_case_that_cannot_be_read_fails_with_its_faults(tmp_path: Path) -> None:
    (tmp_path / "x.transcript.yaml").write_text("name: broken\nscript: []\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "x.transcript.yaml:1:1: `pipeline` of the case is missing" in run.stdout
    assert "1 failed" in run.stdout
    assert "Traceback" not in run.stdout


def test_the_plugin_does_not_load_spark() -> None:
    program = "import sys, headrace.testing.transcripts.plugin; print('pyspark' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (None, True),
        (["pytest", "-n", "2"], False),
        (["pytest", "-n", "2", "--dist", "loadfile"], True),
        (["pytest", "-n2", "--dist=loadscope"], True),
        (["pytest", "-n2", "--dist=loadgroup"], False),
    ],
)
def test_cases_run_side_by_side_where_a_process_has_the_whole_file(
    words: list[str] | None, whole: bool
) -> None:
    config = SimpleNamespace() if words is None else SimpleNamespace(workerinput={"mainargv": words})
    assert whole_files(config) is whole  # type: ignore[arg-type]
