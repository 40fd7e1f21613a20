"""Standbys in the process and the session of their run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import TIMEOUT, wait_until

from headrace import Pipeline, connect, windows
from headrace.errors import HeadraceError
from headrace.runtime.standby import StandbyRun
from headrace.runtime.warm_up import warm_up

pytestmark = pytest.mark.usefixtures("spark")


def build(work: Path) -> tuple[Pipeline, connect.memory]:
    (work / "in").mkdir(exist_ok=True)
    pipeline = Pipeline("fraud")
    files = connect.files(
        path=str(work / "in"), format="json", schema="card string, amount int, ts timestamp"
    )
    tx = pipeline.read("tx", files).event_time("ts", out_of_order="1 second")
    counted = tx.key_by("card").window(windows.tumbling("10 seconds"), engine="native")
    box = connect.memory()
    counted.aggregate("totals", n="count(*)").write("out", box)
    return pipeline, box


def write(work: Path, name: str, *seconds: int) -> None:
    rows = (f'{{"card": "a", "amount": 1, "ts": "2026-03-02T09:00:{each:02}Z"}}' for each in seconds)
    (work / "in" / name).write_text("\n".join(rows))


def test_stop_of_the_run_ends_its_standby(tmp_path: Path) -> None:
    pipeline, _ = build(tmp_path)
    run = pipeline.start(checkpoint=tmp_path / "checkpoint")
    standby = pipeline.start(checkpoint=tmp_path / "checkpoint", standby=True)
    assert isinstance(standby, StandbyRun)
    assert standby.status().phase.startswith("standby: waiting for the run of process")
    run.stop()
    assert standby.wait(TIMEOUT)
    assert standby.reason.endswith("was stopped")


def test_standby_continues_a_run_that_failed(tmp_path: Path) -> None:
    pipeline, box = build(tmp_path)
    write(tmp_path, "1.json", 1, 2)
    run = pipeline.start(checkpoint=tmp_path / "checkpoint")
    with pipeline.start(checkpoint=tmp_path / "checkpoint", standby=True) as standby:
        wait_until(lambda: run.status().rows_in == 2, run)
        run._abort(RuntimeError("lost"))  # type: ignore[attr-defined]
        with pytest.raises(HeadraceError, match="lost"):
            run.wait(TIMEOUT)
        write(tmp_path, "2.json", 3, 30)
        wait_until(lambda: bool(box.contents()), standby)
        standby.stop()
    assert [row["n"] for row in box.contents()] == [3]
    (warning,) = standby.status().warnings
    assert warning.endswith("failed or was killed; this standby took over")


def test_standby_without_another_run_is_the_run(tmp_path: Path) -> None:
    pipeline, box = build(tmp_path)
    write(tmp_path, "1.json", 1, 2)
    with pipeline.start(checkpoint=tmp_path / "checkpoint", standby=True, until="drained") as run:
        run.wait()
    assert not isinstance(run, StandbyRun)
    assert [row["n"] for row in box.contents()] == [2]


def test_warm_up_runs_an_empty_epoch_of_each_query(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline, box = build(tmp_path)
    write(tmp_path, "1.json", 1, 2)
    with caplog.at_level("INFO", logger="headrace"):
        assert warm_up(spark, pipeline._plan()) == []
    assert not [record for record in caplog.records if "ended early" in record.message]
    assert box.contents() == []


def test_warm_up_reports_what_the_analyzer_rejects(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, _ = build(tmp_path)
    pipeline.read("more", connect.files(path=str(tmp_path / "in"), format="json", schema="a int")).select(
        b="array_size(a)"
    ).write("wrong", connect.memory())
    (problem,) = warm_up(spark, pipeline._plan())
    assert "array_size" in problem


def test_warm_up_leaves_a_plan_that_needs_data(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline("frames")
    pipeline.from_dataframe("rows", spark.range(3)).write("out", connect.memory())
    with caplog.at_level("INFO", logger="headrace"):
        assert warm_up(spark, pipeline._plan()) == []
    assert "the warm-up of frames ended early" in caplog.text
