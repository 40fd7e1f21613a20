"""The page "Compared with" has sources for each system, and tests for what it says about Headrace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "compared-with.md").read_text(encoding="utf-8")
SYSTEMS = (
    "Apache Flink",
    "Spark Structured Streaming",
    "Kafka Streams",
    "Apache Beam",
    "RisingWave",
    "Bytewax",
    "Quix Streams",
    "Pathway",
)
SECTIONS = {section.splitlines()[0]: section for section in PAGE.split("\n## ")[1:]}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_sources_of_its_own(system: str) -> None:
    assert len(re.findall(r"\]\(https://", SECTIONS[system].partition("\nSources: ")[2])) >= 2


def test_every_system_is_in_the_table() -> None:
    anchors = set(re.findall(r"^\| \[.*?\]\(#([\w-]+)\)", PAGE, re.MULTILINE))
    assert anchors == {system.lower().replace(" ", "-") for system in SYSTEMS}


def test_every_claim_about_headrace_names_a_test_that_exists() -> None:
    claims = [row for row in SECTIONS["What the tests show"].splitlines() if row.startswith("| ")][1:]
    tests = {row: re.findall(r"`(tests/[\w/]+\.py)`", row) for row in claims}
    assert len(claims) >= 10
    assert [row for row, paths in tests.items() if not paths] == []
    assert [path for paths in tests.values() for path in paths if not (ROOT / path).is_file()] == []
