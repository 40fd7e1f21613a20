"""Generated cases of a test do not depend on the tests before it (`tests/conftest.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = """
import sys
from hypothesis import given, strategies as st

def cases():
    found = []

    @given(st.integers(), st.text())
    def show(number, text):
        found.append((number, text))

    show()
    return found

def test_cases_stay_when_a_module_is_loaded(monkeypatch):
    before = cases()
    assert len(before) == 100
    monkeypatch.syspath_prepend(sys.argv[-1])
    import one_more
    assert cases() == before
"""


@pytest.mark.slow
def test_cases_do_not_depend_on_the_modules_that_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_bytes((Path(__file__).parents[1] / "conftest.py").read_bytes())
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "one_more.py").write_text("NUMBERS = [123456789, 987654321]\nWORDS = ['any', 'word']\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    environment = os.environ | {"HYPOTHESIS_PROFILE": "fixed", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith("1 passed"), done.stdout
