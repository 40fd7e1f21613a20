"""The page that lists the files of common tasks names files that exist, and at most six for each task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "where-to-change.md"
TASKS = dict(
    zip(
        *[iter(re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:])] * 2,
        strict=True,
    )
)
TASKS.pop("Measurement")


@pytest.mark.parametrize("task", TASKS)
def test_a_task_needs_at_most_six_files_which_exist(task: str) -> None:
    files = re.findall(r"^\| `([^`]+)`", TASKS[task], re.MULTILINE)
    assert 0 < len(files) <= 6
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_page_has_all_tasks() -> None:
    assert len(TASKS) == 6
