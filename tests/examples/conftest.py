"""An example as its user has it: a directory of its own, which is the working directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.examples_at_hand import Example, copy_of


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Example]:
    def copied(name: str) -> Example:
        found = copy_of(name, tmp_path)
        monkeypatch.chdir(found.directory)
        return found

    return copied
