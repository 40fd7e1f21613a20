"""Aggregates in Python: in any window and mode.

Errors in user code name the step, the column and the class.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Aggregate, Pipeline, connect, windows
from headrace.errors import AggregateError, PlanError
from headrace.testing import run_case, run_files
from headrace.testing.transcripts.case import Case, read_file
from headrace.testing.transcripts.runs.kernel_cases import runs_in_kernel

CASES = Path(__file__).with_name("python_aggregates") / "spread.yaml"


class Sum(Aggregate):
    """A sum that raises on request."""

    returns = "double"

    def __init__(self, *of: str, fails: str = "", **more: Any) -> None:
        super().__init__(*of, **more)
        self.fails = fails

    def zero(self) -> float:
        return 0.0

    def add(self, state: float, value: float) -> float:
        if self.fails == "add":
            raise ValueError(f"{value} is no good")
        return state + value

    def merge(self, a: float, b: float) -> float:
        return a + b

    def result(self, state: float) -> Any:
        return "many" if self.fails == "result" else state


def run(directory: Path, aggregate: Aggregate) -> list[dict[str, Any]]:
    out = connect.memory()
    pipeline = Pipeline("sums")
    rows = [{"v": 1.5, "ts": "2026-03-02T09:00:00Z"}, {"v": 2.0, "ts": "2026-03-02T09:00:01Z"}]
    timed = pipeline.read("tx", connect.memory(rows=rows), schema="v double, ts timestamp").event_time("ts")
    timed.window(windows.tumbling("1 minute")).aggregate("sums", total=aggregate, n="count(*)").write(
        "out", out
    )
    pipeline.run(until="drained", checkpoint=directory / "checkpoint")
    return out.contents()


def test_windows_and_modes_are_the_kernels_over_a_kill_and_as_a_batch(spark: SparkSession) -> None:
    report = run_files([CASES], only="beside Spark's", batch=True, spark=spark)
    assert report.passed, report.failures


def test_a_step_alone_is_folded_in_the_in_process_driver(spark: SparkSession) -> None:
    [_, case] = read_file(CASES)
    assert isinstance(case, Case)
    assert runs_in_kernel(case)
    outcome = run_case(case, spark=spark)
    assert outcome.passed, outcome.failure


def test_a_method_that_raises_is_reported_with_its_place(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AggregateError) as caught:
        run(tmp_path, Sum("v", fails="add"))
    message = str(caught.value)
    assert message.startswith("`sums`: `total`: Sum failed in add (")
    assert "test_python_aggregates.py:" in message
    assert message.endswith("ValueError: 1.5 is no good")


def test_a_result_of_another_type_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AggregateError, match="`sums`: `total`: Sum returned a result that is not double: "):
        run(tmp_path, Sum("v", fails="result"))


def test_an_instance_that_cannot_be_pickled_is_refused_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    aggregate = Sum("v")
    aggregate.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(PlanError) as caught:
        run(tmp_path, aggregate)
    assert "`total`: Sum cannot be sent to the executors: cannot pickle '_thread.lock' object" in str(
        caught.value
    )
    assert "create what cannot be pickled in zero() or result()" in str(caught.value)
