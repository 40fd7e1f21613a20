"""Snapshots of jobs between two attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.jobs.directory import JobDirectory, write_json
from headrace.jobs.model import Job
from headrace.jobs.reporting import Reporter
from headrace.jobs.states import JobState
from headrace.jobs.store.database import Database
from headrace.jobs.store.schema import create_tables

JOB = Job("0123456789ab", "fraud", "ada", "p.yaml", "v", None, state=JobState.STARTING, attempts=1)


@pytest.fixture
def reporter(tmp_path: Path) -> Iterator[Reporter]:
    database = Database(str(tmp_path / "jobs.db"))
    create_tables(database)
    yield Reporter(database, lambda job: JobDirectory(tmp_path / job))
    database.close()


def test_counts_of_sinks_are_those_of_the_job_until_a_new_attempt_reports(
    reporter: Reporter, tmp_path: Path
) -> None:
    steps = {"table": {"rows_in": 86, "rows_out": 86}}
    metrics = {"rows_in": 600, "rows_out": 86, "rate_in": 20.0, "latency_ms": {"p99": 900}}
    tick = {
        "metrics": metrics,
        "steps": {"table": {**steps["table"], "rate_out": 3.0}},
        "lag_by_partition": {"0": 5},
    }
    write_json(JobDirectory(tmp_path / JOB.id).attempt(1).status, tick)
    snapshot = reporter.snapshot(replace(JOB, attempts=2))
    assert (snapshot["metrics"]["rows_out"], snapshot["steps"]) == (86, steps)
    assert "lag_by_partition" not in snapshot
    assert "rate_in" not in snapshot["metrics"]  # a chart has a gap until the new attempt measures
    assert snapshot["metrics"]["latency_ms"]["p99"] is None
