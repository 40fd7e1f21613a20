"""The page on transcripts lists every script line, and its case passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.testing import read_case, run_case
from headrace.testing.transcripts.script_reading import LINES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "transcripts.md").read_text()
[CASE] = re.findall(r'```yaml title="late.transcript.yaml"\n(.*?)```', PAGE, re.DOTALL)


def test_the_case_on_the_page_can_be_read() -> None:
    assert read_case(CASE).name == "a late row within the lateness fires again"


def test_every_line_of_a_script_is_on_the_page() -> None:
    lines = set(re.findall(r"^\| `(\w+):", PAGE, re.MULTILINE))
    assert lines == set(LINES)


def test_the_case_on_the_page_passes(spark: SparkSession) -> None:
    assert run_case(CASE, spark=spark).failure == ""
