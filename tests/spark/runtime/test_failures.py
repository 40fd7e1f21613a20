"""Failures of a run keep their reason, and background threads that fail end the run."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from headrace import Pipeline, connect
from headrace.errors import HeadraceError, SourceError
from headrace.runtime.micro_batch.idleness import IdlenessTicker


def test_exception_in_a_python_udf_keeps_its_reason_and_has_no_internal_frames(
    spark: SparkSession, tmp_path: Path
) -> None:
    divide = udf(lambda v: v // 0, "int")
    pipeline = Pipeline("divided")
    rows = pipeline.read("rows", connect.memory(rows=[{"v": 1}]), schema="v int")
    rows.select(x=divide("v")).write("out", connect.memory())
    with pytest.raises(SourceError) as caught:
        pipeline.run(until="caught_up", checkpoint=tmp_path)
    assert "a Python function failed: ZeroDivisionError: integer division or modulo by zero" in str(
        caught.value
    )
    assert "test_failures.py" in str(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames[1:]] == ["call"]  # the decorator of public verbs


def test_value_that_cannot_be_cast_is_reported_with_the_step_and_its_expression(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline("cast")
    rows = pipeline.read("rows", connect.memory(rows=[{"card": "a"}]), schema="card string")
    rows.select(x="cast(card as int)", step_name="number").write("out", connect.memory())
    with pytest.raises(SourceError, match=r"`number`: The value 'a' .* cannot be cast .* in `cast"):
        pipeline.run(until="caught_up", checkpoint=tmp_path)


def test_background_thread_that_fails_ends_the_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: IdlenessTicker, step: str, watermark_ms: int) -> None:
        raise ValueError("the clock is broken")

    monkeypatch.setattr(IdlenessTicker, "_advance", fail)
    pipeline = Pipeline("ticking")
    rows = pipeline.read("rows", connect.memory(rows=[{"v": 1}]), schema="v int")
    rows.processing_time().write("out", connect.memory())
    with (
        pipeline.start(checkpoint=tmp_path) as run,
        pytest.raises(HeadraceError, match="the clock is broken"),
    ):
        run.wait(timeout=120)
