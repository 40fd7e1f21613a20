"""A record far ahead of the clock: a warning names it, and a drain closes its window with the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import Pipeline, connect, windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_record_far_ahead_is_named_and_its_window_drains(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline("ahead")
    rows = [{"k": "a", "ts": "2026-01-01T00:00:01Z"}, {"k": "b", "ts": "2099-05-06T07:08:09Z"}]
    tx = pipeline.read("tx", connect.memory(rows=rows), schema="k string, ts timestamp")
    timed = tx.event_time("ts", step_name="timed")
    counts = timed.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
    out = connect.memory()
    counts.write("out", out)
    with pipeline.start(until="drained") as run:
        run.wait()
        [warning] = run.status().warnings
    assert "`timed`: the record with event time 2099-05-06 07:08:09" in warning
    assert sorted(row["k"] for row in out.contents()) == ["a", "b"]
