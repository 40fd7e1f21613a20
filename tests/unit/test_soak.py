"""The soak test runs every kind of step and detects growth from the first quarter of its duration to the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.soak.__main__ import Sample, draw, find_growth
from benchmarks.soak.pipeline import build

from headrace.steps.base import Node
from headrace.steps.endpoints.source import FrameSource
from headrace.steps.kinds import features, step_models


def samples(disk_per_second: float) -> list[Sample]:
    return [Sample(second, 100 + disk_per_second * second, 50, 10, 200) for second in range(0, 3600, 5)]


def test_constant_resources_pass_and_growing_ones_are_named() -> None:
    assert find_growth(samples(0), 3600) == {}
    growth = find_growth(samples(0.1), 3600)
    assert list(growth) == ["disk"]
    assert growth["disk"] > 1.5


def test_samples_are_drawn(tmp_path: Path) -> None:
    draw(samples(0.1), tmp_path / "soak.svg")
    assert (tmp_path / "soak.svg").read_text().count("<polyline") == 4


def leaves(kind: type[Node]) -> Iterator[type[Node]]:
    """Yield the classes of steps without subclasses; the others are abstract."""
    subclasses = [
        each for each in kind.__subclasses__() if each.__module__.startswith(("headrace.steps.", *features()))
    ]
    if not subclasses:
        yield kind
    for subclass in subclasses:
        yield from leaves(subclass)


def test_every_kind_of_step_is_in_the_pipeline() -> None:
    assert step_models()  # imports all of them
    assert {type(node) for node in build()._plan()} == set(leaves(Node)) - {FrameSource}
