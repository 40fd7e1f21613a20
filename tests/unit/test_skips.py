"""The rule of `tests/conftest.py` that CI skips nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = """
import pytest

def test_that_runs():
    pass

@pytest.mark.skip(reason="no server here")
def test_that_is_skipped():
    pass

def test_that_skips_itself():
    pytest.importorskip("no_such_client")

@pytest.mark.xfail(reason="known", strict=True)
def test_that_is_known_to_fail():
    raise ValueError
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ci", "result"),
    [("true", "1 failed, 1 passed, 1 xfailed, 1 error"), ("", "1 passed, 2 skipped, 1 xfailed")],
)
def test_a_skipped_test_fails_in_ci_only(tmp_path: Path, ci: str, result: str) -> None:
    (tmp_path / "conftest.py").write_bytes((Path(__file__).parents[1] / "conftest.py").read_bytes())
    (tmp_path / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    environment = os.environ | {"CI": ci, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith(result)
    assert ("skipped, which CI doesn't allow" in done.stdout) == (ci == "true")
    assert ("no server here" in done.stdout) == (ci == "true")
