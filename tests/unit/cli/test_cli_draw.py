"""`headrace draw` with what is wrong: told before Spark starts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., "subprocess.CompletedProcess[str]"]
CASE = """
name: rows pass
pipeline:
  sources: {tx: {memory: {}, schema: "v int"}}
  steps: {all: {from: tx, where: "true"}}
script:
  - expect: {all: []}
"""


def test_a_file_that_is_not_there_is_told(call: Call) -> None:
    said = call("draw", "nowhere.yaml")
    assert said.returncode == 2
    assert "nowhere.yaml: there is no such file" in said.stderr


def test_a_case_that_is_not_there_is_told(call: Call, write: Callable[[str, str], Path]) -> None:
    write("cases.yaml", CASE)
    said = call("draw", "cases.yaml", "--case", "rows pas by")
    assert said.returncode == 2
    assert "no case is called 'rows pas by'" in said.stderr
    assert "rows pass" in said.stderr
