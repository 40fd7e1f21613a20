"""The driver of a job decides again on what a document may use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.access import ENVIRONMENT, Access
from headrace.jobs.directory import JobDirectory
from headrace.jobs.process import environment_of
from headrace.jobs.supervisor import DRIVER

DOCUMENT = """
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks: {out: {from: n, files: {path: PATH, format: json}}}
"""


def drive(directory: Path, file: str, content: str, access: Access) -> str:
    """Run the driver of a job under a restriction and return the error that it records."""
    job = JobDirectory(directory)
    job.files.mkdir(parents=True)
    (job.files / file).write_text(content)
    (directory / "job.json").write_text(json.dumps({"file": file, "settings": {}}))
    job.attempt(1).path.mkdir(parents=True)
    command = [*DRIVER, str(directory), "--attempt", "1"]
    subprocess.run(command, env=environment_of("j", access), cwd=job.files, check=False, capture_output=True)
    record = json.loads(job.attempt(1).exit.read_text())
    assert record["ending"] == "failed"
    return str(record["error"])


def test_a_file_that_is_not_accepted_any_more_is_not_opened(tmp_path: Path) -> None:
    error = drive(tmp_path, "p.yaml", DOCUMENT.replace("PATH", "/etc/out"), Access())
    assert "a path of the service's machine is not accepted" in error
    error = drive(
        tmp_path / "2", "p.yaml", DOCUMENT.replace("PATH", "'${HOME}'"), Access(variables=("HOST",))
    )
    assert "the variable `HOME` is not accepted" in error


def test_a_python_file_that_is_not_accepted_any_more_is_not_loaded(tmp_path: Path) -> None:
    error = drive(tmp_path, "p.py", "raise SystemExit('run')", Access())
    assert error == "p.py: a Python file is not accepted\n  hint: start the service with --allow-code"


def test_an_accepted_python_file_is_loaded_without_a_restriction(tmp_path: Path) -> None:
    code = "from headrace import connect\nconnect.files(path='/etc/x')\nraise ValueError('loaded')"
    assert "loaded" in drive(tmp_path, "p.py", code, Access(code=True))


def test_no_process_of_a_job_imports_from_its_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "that of another service")
    environment = environment_of("j")
    assert ENVIRONMENT not in environment
    (tmp_path / "colorsys.py").write_text("raise SystemExit('shadowed')")
    command = [sys.executable, "-c", "import colorsys; print(colorsys.__file__)"]
    output = subprocess.run(
        command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert os.path.dirname(output.stdout) == os.path.dirname(os.__file__)  # noqa: PTH120 - texts
