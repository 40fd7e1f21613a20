"""The verbs of the job service, on driver processes without Spark."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.errors import OptionError
from headrace.jobs.process import start_time
from headrace.jobs.service import JobService
from headrace.jobs.states import ConflictError, JobState, UnknownJobError
from tests.services.jobs.conftest import QUICK, run, submit, wait_for
from tests.support.waiting import wait_until


def test_a_submitted_job_runs_and_reports(running: JobService) -> None:
    job = run(running)
    wait_until(lambda: running.snapshot(running.get(job.id))["metrics"]["rows_in"] > 0)
    assert job.pid is not None
    assert start_time(job.pid) is not None


def test_a_graceful_stop_ends_the_process_and_a_restart_resumes(running: JobService) -> None:
    job = run(running)
    running.stop_job(job.id)
    stopped = wait_for(running, job, JobState.STOPPED)
    assert (stopped.pid, stopped.exit_reason) == (None, "stopped")
    rows = running.snapshot(stopped)["metrics"]["rows_in"]
    next_attempt = replace(stopped, attempts=2)  # has not reported yet
    assert running.snapshot(next_attempt)["metrics"]["rows_in"] == rows > 0
    running.restart(job.id)
    assert wait_for(running, job, JobState.RUNNING).attempts == 2


def test_a_drained_job_does_not_start_again(running: JobService) -> None:
    job = run(running)
    running.drain(job.id)
    wait_for(running, job, JobState.DRAINED)
    with pytest.raises(ConflictError, match="drained cannot be restarted"):
        running.restart(job.id)


def test_a_killed_job_has_no_process(running: JobService) -> None:
    job = run(running)
    assert running.kill(job.id).state is JobState.KILLED
    assert start_time(job.pid or 0) is None
    assert running.store.attempts(job.id)[-1].exit_reason == "killed"


def test_a_driver_is_killed_before_it_has_reported(tmp_path: Path) -> None:
    silent = (sys.executable, "-c", "import time; time.sleep(600)")
    service = JobService(tmp_path / "data", command=silent, period=0.05)
    service.start()
    job = wait_for(service, submit(service), JobState.STARTING)
    wait_until(lambda: service.get(job.id).pid is not None)
    assert service.kill(job.id).state is JobState.KILLED
    service.pause()
    service.close()


def test_a_restart_of_a_running_job_stops_it_gracefully_first(running: JobService) -> None:
    job = run(running)
    running.restart(job.id)
    wait_until(lambda: running.get(job.id).attempts == 2)
    wait_for(running, job, JobState.RUNNING)
    assert running.store.attempts(job.id)[0].exit_reason == "stopped"


def test_a_failed_attempt_is_restarted(running: JobService) -> None:
    job = run(running, "# fail: 2")
    assert (job.attempts, job.restarts) == (3, 2)
    assert [attempt.error for attempt in running.store.attempts(job.id)][:2] == [
        "attempt 1 failed",
        "attempt 2 failed",
    ]


def test_restarts_end_at_the_limit(running: JobService) -> None:
    job = wait_for(running, submit(running, "# fail: 9"), JobState.FAILED)
    assert (job.attempts, job.error) == (QUICK.restart_limit + 1, "attempt 3 failed")


def test_a_wrong_pipeline_is_not_restarted(running: JobService) -> None:
    job = wait_for(running, submit(running, "# wrong"), JobState.FAILED)
    assert (job.attempts, job.error) == (1, "attempt 1 failed")


def test_a_crash_is_reported_with_its_exit_status(running: JobService) -> None:
    job = wait_for(running, submit(running, "# crash"), JobState.FAILED)
    assert job.exit_reason == "exit status 3"


def test_a_driver_killed_from_outside_is_restarted(running: JobService) -> None:
    job = run(running)
    os.kill(job.pid or 0, signal.SIGKILL)
    wait_until(lambda: running.get(job.id).attempts == 2)
    assert running.store.attempts(job.id)[0].exit_reason == "killed by signal 9"


def test_a_driver_killed_after_the_drain_has_drained(running: JobService) -> None:
    job = run(running)
    checkpoint = running.directory(job.id).checkpoint
    checkpoint.mkdir()
    (checkpoint / "drained").touch()
    os.kill(job.pid or 0, signal.SIGKILL)
    assert wait_for(running, job, JobState.DRAINED).attempts == 1


def test_a_clone_is_a_job_of_its_own(running: JobService) -> None:
    job = run(running)
    (running.directory(job.id).files / "output.json").write_text("written by the job")
    clone = running.clone(job.id)
    wait_for(running, clone, JobState.RUNNING)
    assert clone.id != job.id
    assert clone.version == job.version


def test_a_deleted_job_leaves_nothing(running: JobService) -> None:
    job = run(running)
    with pytest.raises(ConflictError, match="running cannot be deleted"):
        running.delete(job.id)
    running.kill(job.id)
    running.delete(job.id)
    assert not running.directory(job.id).path.exists()
    with pytest.raises(UnknownJobError):
        running.get(job.id)


def test_a_data_directory_has_one_service(service: JobService, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="another job service"):
        JobService(tmp_path / "data")


def test_every_change_of_state_is_recorded(running: JobService) -> None:
    job = run(running)
    running.kill(job.id)
    states = [transition["after"] for transition in running.store.transitions(job.id)]
    assert states == ["starting", "running", "killed"]
