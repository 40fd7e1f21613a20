"""The language of code, tests and documentation keeps to the rates of well-known projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.language import Language, measure, source_files, starts_with_participle

ROOT = Path(__file__).parents[2]


AREAS = {
    "code": ["src", "kernel", "hatch_build.py"],
    "benchmarks": ["benchmarks"],
    "examples": ["examples"],
    "tests": ["tests"],
    "docs": ["docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
}


@pytest.fixture(scope="module", params=AREAS)
def language(request: pytest.FixtureRequest) -> Language:
    return measure(source_files([ROOT / path for path in AREAS[request.param]]))


def test_prose_has_few_verbs_of_speech(language: Language) -> None:
    assert language.verb_rate < 0.5, "\n".join(language.verbs)


def test_few_functions_start_with_a_participle(language: Language) -> None:
    assert language.participle_share < 0.02, "\n".join(language.participles)


def test_few_docstrings_open_with_a_relative_clause(language: Language) -> None:
    assert language.clause_share < 0.01, "\n".join(language.clauses)


def test_variables_are_nouns_of_the_domain(language: Language) -> None:
    assert language.variables == []


def test_names_in_scala_have_the_words_of_the_documentation(language: Language) -> None:
    assert language.scala_names == []


def test_replaced_words_and_participles_are_recognised_in_scala(tmp_path: Path) -> None:
    source = tmp_path / "Names.scala"
    source.write_text(
        """/** def kept(x) */
class KeptRows(val found: Int, isRepeated: Boolean) { // val told
  override def dropped(row: Int): Int = row
  private def droppedRows(row: Int): String = "val said: Int"
  def dropped: Int = 0
  val settledRows, rows = 1
}
"""
    )
    names = [name.rsplit(":", 2)[1:] for name in measure([source]).scala_names]
    assert names == [["2", " KeptRows"], ["2", " found"], ["4", " droppedRows"], ["6", " settledRows"]]


@pytest.mark.parametrize(("name", "expected"), [("told", True), ("_kept_rows", True), ("feed_rows", False)])
def test_participles_are_recognised(name: str, expected: bool) -> None:
    assert starts_with_participle(name) is expected


def test_code_in_markdown_is_no_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# It says\n\nA `told` row.\n\n```text\nsaid\n```\n")
    assert measure([page]).verbs == [f"{page}:1: says"]
