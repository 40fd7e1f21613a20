"""Samples of rows at the edges of a running plan, which change nothing about the run."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import wait_until

from headrace import Pipeline, connect, windows
from headrace.errors import OptionError
from headrace.runtime.samples import MAX_LENGTH, TRUNCATED

EDGES = {
    "rows": {"k", "n", "text", "ts"},
    "kept": {"k", "n", "text", "ts"},
    "sums": {"k", "window", "pane", "total"},
    "big": {"k", "total"},
    "out": {"k", "total"},
}
"""The names of edges before and after the stateful step, and their columns."""


class Job:
    """A running pipeline that reads one row per window and key."""

    def __init__(self, directory: Path, text: str = "") -> None:
        self.directory = directory
        self.text = text
        self.feed, self.out = connect.memory(), connect.memory()
        self.pipeline = Pipeline("sampled")
        rows = self.pipeline.read("rows", self.feed, schema="k string, n int, text string, ts timestamp")
        kept = rows.sql("kept", "select * from this where n >= 0").event_time("ts")
        sums = kept.key_by("k").window(windows.tumbling("10 seconds")).aggregate("sums", total="sum(n)")
        sums.sql("big", "select k, total from this").write("out", self.out)
        self.added = 0

    def add_row(self) -> None:
        n = self.added
        at = datetime.fromtimestamp(10 * (n // 2), UTC)
        self.feed.add({"k": "ab"[n % 2], "n": n, "text": self.text, "ts": at})
        self.added += 1

    def add_rows_until(self, run: Any, sample: Future[Any]) -> Any:
        """Add a row whenever the run has read those before, until a sample is taken."""
        while not sample.done():
            self.add_row()
            wait_until(lambda: sample.done() or run.status().rows_in == self.added)
        return sample.result()


def test_every_edge_is_sampled_and_no_row_is_lost_or_doubled(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.pipeline.start(checkpoint=tmp_path) as run, ThreadPoolExecutor(1) as executor:
        for edge, columns in EDGES.items():
            sample = executor.submit(run.sample, edge, rows=3, timeout=60)
            rows = job.add_rows_until(run, sample)
            assert rows, edge
            assert all(set(row) == columns for row in rows), (edge, rows)
        wait_until(lambda: run.status().rows_in == job.added)
        run.stop()
    with job.pipeline.start(checkpoint=tmp_path, until="drained") as last:
        last.wait(timeout=120)
    assert sorted(row["total"] for row in job.out.contents()) == list(range(job.added))
    for status in (run.status(), last.status()):
        assert status.mismatch_count == 0
        assert status.steps["sums"].balanced
    assert run.status().rows_in == run.status().steps["sums"].rows == job.added


def test_long_rows_are_cut_and_passwords_hidden(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(tmp_path, text="postgresql://ada:hush@db/shop")
    with job.pipeline.start(checkpoint=tmp_path) as run, ThreadPoolExecutor(1) as executor:
        [row] = job.add_rows_until(run, executor.submit(run.sample, "rows", rows=1, timeout=60))
        assert row["text"] == "postgresql://ada:***@db/shop"
        job.text = "x" * 2 * MAX_LENGTH
        sample = executor.submit(run.sample, "kept", rows=1, timeout=60)
        [row] = job.add_rows_until(run, sample)
        assert list(row) == [TRUNCATED]
        assert len(row[TRUNCATED]) == MAX_LENGTH + 1


def test_a_sample_without_rows_is_empty_and_an_unknown_edge_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Job(tmp_path).pipeline.start(checkpoint=tmp_path) as run:
        assert run.sample("sums.late", timeout=0.1) == []
        with pytest.raises(OptionError, match="unknown step or output `smus`"):
            run.sample("smus")


def test_last_rows_of_a_sink_are_kept_while_the_run_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(tmp_path)

    def has_rows() -> bool:
        job.add_row()
        return bool(run._last_rows("out")[1])

    with job.pipeline.start(checkpoint=tmp_path) as run:
        assert run._last_rows("out") == (0.0, [])
        wait_until(has_rows, run)
        _, rows = run._last_rows("out")
        run.stop()
    assert rows[0] in job.out.contents()
