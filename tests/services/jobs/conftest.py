"""A job service in this process whose drivers need no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headrace.jobs.app import create_app
from headrace.jobs.model import Job, JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.jobs.submission import Submission
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving
from tests.support.waiting import wait_until

DOCUMENT = """# plain
name: numbers
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks: {out: {from: n, console: {}}}
"""
QUICK = JobSettings(restart_limit=2, restart_backoff="10 milliseconds")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[JobService]:
    service = JobService(tmp_path / "data", command=COMMAND, period=0.05)
    yield service
    kill_all(service)
    service.close()


@pytest.fixture
def running(service: JobService) -> Iterator[JobService]:
    service.start()
    yield service
    service.pause()


@pytest.fixture
def client(service: JobService) -> Iterator[httpx.Client]:
    with serving(create_app(service)) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client
        kill_all(service)


def kill_all(service: JobService) -> None:
    for job in service.jobs():
        if job.state.active:
            service.kill(job.id)


def submit(service: JobService, first_line: str = "# plain", settings: JobSettings = QUICK) -> Job:
    text = DOCUMENT.replace("# plain", first_line).encode()
    return service.submit(Submission("pipeline.yaml", {"pipeline.yaml": text}, settings=settings))


def wait_for(service: JobService, job: Job, state: str) -> Job:
    wait_until(lambda: service.get(job.id).state == state)
    return service.get(job.id)


def run(service: JobService, first_line: str = "# plain") -> Job:
    return wait_for(service, submit(service, first_line), JobState.RUNNING)
