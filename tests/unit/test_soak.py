"""The soak test detects growth from the first quarter of its duration to the end."""

from __future__ import annotations

from pathlib import Path

from benchmarks.soak import Sample, draw, find_growth


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
