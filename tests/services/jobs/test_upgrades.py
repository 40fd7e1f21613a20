"""Jobs get savepoints, go on with another pipeline from their checkpoint, and go back."""

from __future__ import annotations

import json

import httpx
import pytest

from headrace import Pipeline
from headrace.checkpoints.layout import renew_checkpoint_id
from headrace.checkpoints.owner import write_owner
from headrace.checkpoints.planned_state import state_of_plan
from headrace.checkpoints.savepoints import read_savepoint
from headrace.checkpoints.signatures import write_signature
from headrace.checkpoints.sources import check_sources
from headrace.errors import OptionError
from headrace.jobs.model import Job, JobSettings
from headrace.jobs.security.policy import Policy
from headrace.jobs.service import JobService
from headrace.jobs.states import ConflictError, JobState
from headrace.jobs.submission import Submission
from headrace.jobs.upgrades import JobUpgrades
from tests.services.jobs.conftest import QUICK, wait_for
from tests.support.checkpoints import write_epochs

DOCUMENT = """# plain
name: numbers
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
steps: {counts: {from: n, key_by: n, aggregate: {c: count(*)}}}
sinks: {out: {from: counts, console: {}, mode: update}}
"""
RENAMED = DOCUMENT.replace("counts", "totals")
CHANGED = DOCUMENT.replace("count(*)", "sum(n)")
WITH_CODE = DOCUMENT.replace("steps: {", 'steps: {twice: {from: n, map: {python: "nowhere:twice"}}, ')


def submission(text: str, settings: JobSettings = QUICK) -> Submission:
    return Submission("pipeline.yaml", {"pipeline.yaml": text.encode()}, settings=settings)


@pytest.fixture
def limited(running: JobService, monkeypatch: pytest.MonkeyPatch) -> JobService:
    """A service with a memory limit."""
    monkeypatch.setattr(running, "policy", Policy(memory_limit="1g"))
    return running


@pytest.fixture
def job(running: JobService) -> Job:
    return start_job(running)


def start_job(running: JobService, settings: JobSettings = QUICK) -> Job:
    """Return a running job whose checkpoint has one epoch."""
    job = running.submit(submission(DOCUMENT, settings))
    graph = Pipeline.from_yaml_text(DOCUMENT)._plan()
    checkpoint = running.directory(job.id).checkpoint
    check_sources(graph, checkpoint)
    write_owner(checkpoint, "numbers")
    for name, state in state_of_plan(graph).queries.items():
        write_epochs(checkpoint / "queries" / name)
        renew_checkpoint_id(checkpoint / "queries" / name)
        write_signature(checkpoint / "queries" / name, state.signature)
    return wait_for(running, job, JobState.RUNNING)


def queries(service: JobService, job: Job) -> list[str]:
    return sorted(path.name for path in (service.directory(job.id).checkpoint / "queries").iterdir())


def test_savepoint_of_a_running_job_stops_it_and_starts_it_again(running: JobService, job: Job) -> None:
    JobUpgrades(running).savepoint(job.id, "v1")
    assert wait_for(running, job, JobState.RUNNING).attempts == 2
    saved = running.directory(job.id).path / "checkpoint.savepoints" / "v1"
    savepoint = read_savepoint(saved)
    assert savepoint is not None
    assert savepoint.pipeline == "numbers"


def test_savepoint_of_a_stopped_job_leaves_it_stopped(running: JobService, job: Job) -> None:
    running.stop_job(job.id)
    wait_for(running, job, JobState.STOPPED)
    assert JobUpgrades(running).savepoint(job.id, "v1").state is JobState.STOPPED


def test_upgrade_moves_renamed_state_and_restore_goes_back(running: JobService, job: Job) -> None:
    _, saved = JobUpgrades(running).upgrade(job.id, submission(RENAMED))
    upgraded = wait_for(running, job, JobState.RUNNING)
    assert saved == f"before-{upgraded.version}"
    assert queries(running, job) == ["totals"]
    assert running.document(job.id) == RENAMED
    assert upgraded.version == submission(RENAMED).version
    JobUpgrades(running).restore(job.id, saved)
    back = wait_for(running, job, JobState.RUNNING)
    assert queries(running, job) == ["counts"]
    assert running.document(job.id) == DOCUMENT
    assert (back.version, back.attempts) == (job.version, 3)


def test_upgrade_that_needs_a_replay_is_rejected_before_anything_stops(running: JobService, job: Job) -> None:
    with pytest.raises(ConflictError, match="needs a replay: `counts`: aggregates were"):
        JobUpgrades(running).upgrade(job.id, submission(CHANGED))
    assert running.get(job.id).state is JobState.RUNNING
    assert running.document(job.id) == DOCUMENT


def test_upgrade_leaves_functions_in_python_to_the_driver(running: JobService, job: Job) -> None:
    JobUpgrades(running).upgrade(job.id, submission(WITH_CODE))
    wait_for(running, job, JobState.RUNNING)
    assert running.document(job.id) == WITH_CODE


def test_drained_job_is_not_upgraded(running: JobService, job: Job) -> None:
    running.drain(job.id)
    wait_for(running, job, JobState.DRAINED)
    with pytest.raises(ConflictError, match="has ended for good"):
        JobUpgrades(running).upgrade(job.id, submission(RENAMED))


def test_upgrade_keeps_the_settings_that_it_does_not_set(running: JobService) -> None:
    settings = JobSettings(master="local[1]", partitions=3, conf={"spark.sql.shuffle.partitions": "3"})
    job = start_job(running, settings)
    JobUpgrades(running).upgrade(job.id, submission(RENAMED, JobSettings(restart_limit=5)))
    expected = settings.model_copy(update={"restart_limit": 5})
    assert running.get(job.id).settings == expected
    record = json.loads((running.directory(job.id).path / "job.json").read_text())
    assert record["settings"] == expected.model_dump()


@pytest.mark.parametrize("settings", [{"restart_limit": 5}, {"memory": None}, {}])
def test_upgrade_has_the_memory_limit_of_the_service(
    limited: JobService, settings: dict[str, object]
) -> None:
    job = start_job(limited, JobSettings())
    assert job.settings.memory == "1g"
    changed = submission(RENAMED, JobSettings.model_validate(settings))
    JobUpgrades(limited).upgrade(job.id, changed)
    assert limited.get(job.id).settings.memory == "1g"


def test_upgrade_with_more_memory_than_the_limit_is_rejected_before_anything_stops(
    limited: JobService,
) -> None:
    job = start_job(limited, JobSettings())
    with pytest.raises(OptionError, match="expected at most 1g, got 2g"):
        JobUpgrades(limited).upgrade(job.id, submission(RENAMED, JobSettings(memory="2g")))
    assert (limited.get(job.id).state, limited.get(job.id).attempts) == (JobState.RUNNING, 1)


def test_restore_has_the_memory_limit_of_the_service(
    running: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start_job(running, JobSettings())
    JobUpgrades(running).savepoint(job.id, "unlimited")
    wait_for(running, job, JobState.RUNNING)
    monkeypatch.setattr(running, "policy", Policy(memory_limit="1g"))
    JobUpgrades(running).restore(job.id, "unlimited")
    assert running.get(job.id).settings.memory == "1g"


def test_verbs_over_rest(client: httpx.Client, service: JobService) -> None:
    job = start_job(service)
    base = f"/api/v1/jobs/{job.id}"
    assert client.post(f"{base}/savepoint", json={"name": "v1"}).status_code == 200
    assert client.post(f"{base}/savepoint", json={"name": "v1"}).status_code == 422
    assert client.post(f"{base}/savepoint", json={"name": "../v1"}).status_code == 422
    assert [each["name"] for each in client.get(f"{base}/savepoints").json()] == ["v1"]
    assert client.post(f"{base}/upgrade", json={"document": CHANGED}).status_code == 409
    done = client.post(f"{base}/upgrade", files={"pipeline": ("pipeline.yaml", RENAMED)})
    version = service.get(job.id).version
    assert (done.status_code, done.json()["savepoint"]) == (200, f"before-{version}")
    assert client.post(f"{base}/restore", json={"name": "none"}).status_code == 422
    assert client.post(f"{base}/restore", json={"name": "v1"}).status_code == 200
    assert service.document(job.id) == DOCUMENT
    wait_for(service, job, JobState.RUNNING)
    answer = client.post(f"{base}/scale", json={"partitions": 4})
    assert (answer.status_code, answer.json()["state"]) == (200, "restarting")


def test_scaling_a_running_job_restarts_it_with_other_settings(running: JobService, job: Job) -> None:
    assert JobUpgrades(running).scale(job.id, partitions=8).state is JobState.RESTARTING
    assert wait_for(running, job, JobState.RUNNING).attempts == 2
    assert running.get(job.id).settings == QUICK.model_copy(update={"partitions": 8})
    record = json.loads((running.directory(job.id).path / "job.json").read_text())
    assert (record["settings"]["partitions"], record["files"]) == (8, ["pipeline.yaml"])


def test_scaling_a_stopped_job_leaves_it_stopped(running: JobService, job: Job) -> None:
    running.stop_job(job.id)
    wait_for(running, job, JobState.STOPPED)
    assert JobUpgrades(running).scale(job.id, partitions=3).state is JobState.STOPPED


def test_scaling_to_nothing_and_executors_of_a_local_job_are_rejected(running: JobService, job: Job) -> None:
    with pytest.raises(OptionError, match="expected `partitions`"):
        JobUpgrades(running).scale(job.id)
    with pytest.raises(OptionError, match="a local job has no executors"):
        JobUpgrades(running).scale(job.id, executors=2)
    assert running.get(job.id).attempts == 1
