"""Every block of code in the documentation runs and prints the output on the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.doc_blocks import DOCS, Reader, blocks_of

from headrace import Pipeline
from headrace.streams.pipeline import collecting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = sorted(DOCS.glob("*/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_code_of_page_prints_its_output(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    monkeypatch.chdir(tmp_path)
    Reader(page).read()


@pytest.mark.parametrize("page", sorted((DOCS / "tutorial").glob("[0-9]*.md")), ids=lambda page: page.stem)
def test_page_of_the_tutorial_runs_twice_in_one_directory(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        Reader(page).read()


def test_readme_example_has_ten_lines_and_the_plan_of_its_document() -> None:
    blocks = {block.language: block.text for block in blocks_of(DOCS.parent / "README.md")}
    with collecting() as pipelines:
        exec(compile(blocks["python"], "README.md", "exec"), {})
    [pipeline] = pipelines
    assert pipeline._plan() == Pipeline.from_yaml_text(blocks["yaml"])._plan()
    code = [line for line in blocks["python"].splitlines() if line.strip() not in ("", "(", ")")]
    assert len(code) <= 10
    assert blocks["python"] in (DOCS / "index.md").read_text()


def test_blocks_keep_their_title_and_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# A page\n\n```python\nx = 1\n```\n\n    ```text title="Output"\n    1\n    ```\n')
    [first, second] = blocks_of(page)
    assert (first.language, first.title, first.text, first.line) == ("python", "", "x = 1\n", 3)
    assert (second.language, second.title, second.text) == ("text", "Output", "1\n")
