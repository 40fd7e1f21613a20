"""The store of the job service in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from headrace.errors import OptionError
from headrace.jobs.security.principals import PrincipalStore, Role
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.jobs.store.database import Database
from tests.services.jobs.conftest import kill_all, run, wait_for
from tests.support.fake_service import COMMAND
from tests.support.servers import Server


@pytest.fixture
def service(tmp_path: Path, servers: Callable[[str], Server]) -> Iterator[JobService]:
    service = JobService(tmp_path, store=servers("postgres").url, command=COMMAND, period=0.05)
    service.start()
    yield service
    kill_all(service)
    service.pause()
    service.close()


def test_a_job_runs_and_is_stored(service: JobService) -> None:
    job = run(service)
    service.history.add(job.id, time.time(), {"rows_in": 5})
    assert service.history.read(job.id, time.time() - 60, time.time())[-1]["rows_in"] == 5
    service.stop_job(job.id)
    assert wait_for(service, job, JobState.STOPPED).attempts == 1
    assert [each["after"] for each in service.store.transitions(job.id)][-1] == "stopped"
    service.delete(job.id)


def test_users_alerts_and_silences_are_stored(service: JobService) -> None:
    principals = PrincipalStore(service.database)
    principals.add_user("ada", "a long password", Role.OPERATOR)
    assert principals.log_in("ada", "a long password") is not None
    silence = service.alerts.silence(time.time() + 60, "ada", "", None, "lag")
    assert service.alerts.silences(time.time()) == [silence]
    assert service.alerts.end_silence(silence.id)


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_connection_that_the_server_closed_is_opened_again(
    servers: Callable[[str], Server], in_transaction: bool
) -> None:
    url = servers("postgres").url
    database, other = Database(url), Database(url)
    [row] = database.rows("SELECT pg_backend_pid() AS pid")
    other.rows("SELECT pg_terminate_backend(?, 10000)", (row["pid"],))  # waits until it has ended
    with database.transaction() if in_transaction else nullcontext():
        assert database.rows("SELECT 1 AS n") == [{"n": 1}]
    database.close()
    other.close()


def test_a_server_that_is_away_is_an_error_without_the_password() -> None:
    with pytest.raises(OptionError) as caught:
        Database("postgresql://ada:hush@127.0.0.1:9/jobs")
    assert "hush" not in str(caught.value)
