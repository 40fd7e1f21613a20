"""Properties of every example, found by discovery."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
from examples.plots import PLOTS, draw
from tests.support.examples_at_hand import EXAMPLES, NAMES, Example

PARTS = ("README.md", "pipeline.py", "pipeline.yaml", "expected.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_example_has_all_its_parts(name: str) -> None:
    directory = EXAMPLES / name
    assert [part for part in PARTS if not (directory / part).exists()] == []
    assert list(directory.glob("events.*"))


@pytest.mark.parametrize("name", PLOTS)
def test_plot_is_drawn_from_the_rows(name: str) -> None:
    assert (EXAMPLES / name / "plot.svg").read_text() == draw(EXAMPLES / name)
    assert "](plot.svg)" in (EXAMPLES / name / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_twins_are_the_same_plan(name: str, example: Callable[[str], Example]) -> None:
    actual = example(name)
    assert actual.pipeline("py").check() == actual.pipeline("yaml").check()


@pytest.mark.parametrize("name", NAMES)
def test_events_and_expected_rows_are_generated_from_the_seed(name: str) -> None:
    made = importlib.import_module(f"examples.{name}.make_events").files()
    kept = {file: (EXAMPLES / name / file).read_text() for file in made}
    assert kept == made
