"""Spark's progress reports, as the kernel forwards them, and the counts of matches in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, patterns


@pytest.fixture
def reports(spark: SparkSession) -> Iterator[Any]:
    jvm: Any = spark._jvm
    reports = jvm.org.apache.spark.sql.headrace.ProgressReports(spark._jsparkSession)
    yield reports
    reports.close()


def read_reports(reports: Any, query: str) -> list[dict[str, Any] | None]:
    """Return the reports of a query so far; None for the end of a run.

    Reports of other tests' queries may be included.
    """
    reports.close()
    actual = []
    while (run := (report := reports.next()).runId()) is not None:
        actual.append((run, json.loads(report.json() or "null")))
    [own] = {run for run, message in actual if message is not None and message["name"] == query}
    return [message for run, message in actual if run == own]


def test_timer_of_a_completed_match_is_cancelled(reports: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, second in enumerate([0, 1, 100, 101, 200, 201, 300]):
        ts = datetime.fromtimestamp(second, UTC).isoformat()
        file = tmp_path / "in" / f"{number}.json"
        file.write_text(json.dumps({"k": "a", "v": number, "ts": ts}))
        os.utime(file, (1_000_000 + number, 1_000_000 + number))  # Spark reads the oldest first
    pipeline, out = Pipeline("reported"), connect.memory()
    files = connect.files(path=tmp_path / "in", max_files_per_batch=1)
    read = pipeline.read("rows", files, format="json", schema="k string, v int, ts timestamp")
    pair = patterns.step("one", "v % 2 = 0").followed_by("two", "v % 2 = 1")
    actual = read.event_time("ts").key_by("k").match("pairs", pair, within="10 seconds", order="arrival")
    actual.write("out", out)
    with pipeline.start(checkpoint=tmp_path / "checkpoint", until="caught_up") as running:
        running.wait(timeout=300)
        status = running.status()
    *batches, end = read_reports(reports, "reported.pairs")
    visits = [
        operator["customMetrics"]["numExpiredTimers"]
        for report in batches
        for operator in (report or {})["stateOperators"]
    ]
    assert len(out.contents()) == 3
    assert end is None
    assert sum((report or {})["numInputRows"] for report in batches) == status.rows_in == 7
    assert len(visits) >= 7
    assert sum(visits) == 0
