"""A job with a real driver: Spark, metrics, a planted loss, graceful stop and drain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.jobs.model import Job, JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.jobs.submission import Submission
from tests.services.jobs.conftest import kill_all, wait_for
from tests.support.waiting import wait_until

PIPELINE = """
from typing import ClassVar

from headrace import Connector, Pipeline, connect, windows
from headrace.connectors.base import StagedRows


class Writer:
    def open(self, context): return -1
    def stage(self, epoch, frame): return StagedRows(max(0, len(frame.collect()) - 1))
    def commit(self, epoch, staged): pass
    def close(self): pass


class Lossy(Connector):
    kind: ClassVar[str] = "lossy"
    roles: ClassVar = frozenset({"sink"})

    def writer(self): return Writer()


numbers = Pipeline("numbers")
rows = numbers.read("rows", connect.generator(rate=50, columns={"n": "sequence", "ts": "timestamp"}))
rows.where("n % 2 = 0", name="even").write("out", connect.files(path="out/", format="json"))
counts = rows.event_time("ts").key_by("n % 3").window(windows.tumbling("1 second"))
counts.aggregate("counts", rows="count(*)").write("counted", connect.files(path="counted/", format="json"))
rows.write("leak", Lossy())
"""
SETTINGS = JobSettings(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"}, memory="600m")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[JobService]:
    service = JobService(tmp_path / "data")
    service.start()
    yield service
    kill_all(service)
    service.pause()
    service.close()


def metrics(service: JobService, job: Job) -> dict[str, Any]:
    found: dict[str, Any] = service.snapshot(service.get(job.id))["metrics"]
    return found


def test_a_job_runs_reports_raises_an_alarm_and_drains(service: JobService) -> None:
    files = {"numbers.py": PIPELINE.encode()}
    job = service.submit(Submission("numbers.py", files, settings=SETTINGS))
    wait_for(service, job, JobState.RUNNING)
    wait_until(lambda: metrics(service, job)["rows_out"] > 100)
    snapshot = service.snapshot(service.get(job.id))
    assert snapshot["metrics"]["latency_ms"]["p99"] > 0
    assert snapshot["steps"]["even"]["rows_out"] > 0
    assert service.plan(job.id) is not None
    wait_until(lambda: any(alert.rule == "row_accounting" for alert in service.alerts.firing()))
    rows = metrics(service, job)["rows_in"]
    service.restart(job.id)
    wait_until(lambda: service.get(job.id).attempts == 2)
    wait_until(lambda: metrics(service, job)["rows_in"] > rows)
    service.drain(job.id)
    drained = wait_for(service, job, JobState.DRAINED)
    assert drained.error is None
    assert list((service.directory(job.id).files / "counted").glob("*.json"))


def test_a_pipeline_that_fails_to_load_reports_its_error(service: JobService) -> None:
    submission = Submission("broken.py", {"broken.py": b"import nothing_of_this_name\n"}, settings=SETTINGS)
    job = wait_for(service, service.submit(submission), JobState.FAILED)
    assert "nothing_of_this_name" in (job.error or "")
    assert job.attempts == 1
