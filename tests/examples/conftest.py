"""An example as its user has it: a directory of its own, which is the working directory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.examples_at_hand import Example, copy_of


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Example]:
    def copied(name: str) -> Example:
        actual = copy_of(name, tmp_path)
        monkeypatch.chdir(actual.directory)
        monkeypatch.syspath_prepend(actual.directory)
        for module in actual.directory.glob("*.py"):  # another copy may be loaded
            monkeypatch.delitem(sys.modules, module.stem, raising=False)
        return actual

    return copied
