"""Fixtures of command-line tests.

A directory with a user's files in it, and the command as a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from headrace.cli.app import main

PARTS = """
from typing import ClassVar
from headrace.connectors.base import Connector


class Log(Connector):
    kind: ClassVar = "log"
    roles: ClassVar = frozenset({"source", "sink", "table"})
    delivers: ClassVar = "exactly_once"
    path: str = "here/"

    @property
    def replayable(self):
        return True
"""

GOOD = """
from headrace import Pipeline
from parts import Log

words = Pipeline("words")
lines = words.read("lines", Log(), format="text")
counts = lines.select("explode(split(value, ' ')) as word").key_by("word").aggregate("counts", n="count(*)")
counts.write("out", Log(path="out/"))

if __name__ == "__main__":
    words.run()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: holds `parts.py`, which pipelines beside it import, and `good.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "parts", raising=False)
    _write("parts.py", PARTS)
    _write("good.py", GOOD)
    return tmp_path


def _write(name: str, text: str) -> Path:
    path = Path(name)
    path.write_text(dedent(text).lstrip("\n"))
    return path


@pytest.fixture
def write(here: Path) -> Callable[[str, str], Path]:
    """Write a file into the working directory."""
    return _write


@pytest.fixture
def call(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command in this process, through the same `main` as the script."""
    monkeypatch.setenv("HEADRACE_CACHE", str(here / "cache"))
    monkeypatch.setenv("HEADRACE_TRACEBACK", "")

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        message = capsys.readouterr()
        return subprocess.CompletedProcess(list(words), int(ended.value.code or 0), message.out, message.err)

    return run


@pytest.fixture
def process(here: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command as a user does: another process. Slower, so only for what a process alone can show."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headrace.cli.app", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HEADRACE_CACHE": str(here / "cache"), **variables},
            timeout=120,
        )

    return run
