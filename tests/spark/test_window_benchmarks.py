"""The window benchmarks run on a few rows, and both sides produce the same results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from benchmarks import harness
from benchmarks.windows import compare_sides, memory
from benchmarks.windows.cases import CASES
from pyspark.sql import SparkSession

SAMPLE = ("count-event-time", "sessions-early")


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(memory, "RESULTS", tmp_path)
    return tmp_path


@pytest.mark.proof
@pytest.mark.parametrize("case", [case for case in CASES if case.name in SAMPLE], ids=lambda case: case.name)
def test_both_sides_of_a_case_give_the_same_results(
    spark: SparkSession, case: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    few = argparse.Namespace(rows=3_000, keys=10, batches=2, runs=1, warm_up=0)

    measured = compare_sides(spark, case, few)

    assert [item.contender for item in measured] == [case.against, "Headrace"]
    assert ": 0 results" not in capsys.readouterr().out


def test_memory_is_plotted_batch_by_batch(spark: SparkSession, tmp_path: Path, results: Any) -> None:
    epochs = memory.measure(spark, tmp_path, open_windows=100, epochs=3)

    assert [(epoch.number, epoch.rows) for epoch in epochs] == [(0, 2), (1, 2), (2, 2)]
    assert memory.open_after(epochs, {0: 0, 1: 0, 2: 1}) == [2, 4, 5]
    assert (results / "memory.svg").read_text().startswith("<?xml")
