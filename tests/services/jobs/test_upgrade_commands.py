"""`headrace jobs savepoint`, `upgrade`, `restore` and `scale` against a real service."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from headrace import Pipeline
from headrace.cli.app import main
from headrace.jobs.model import Job
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.runtime.fresh import restore_effects
from tests.services.jobs.conftest import wait_for
from tests.services.jobs.test_commands import Terminal
from tests.services.jobs.test_upgrades import CHANGED, DOCUMENT, RENAMED, queries, start_job


@pytest.fixture
def terminal(client: httpx.Client) -> Terminal:
    return Terminal(str(client.base_url))


@pytest.fixture
def job(terminal: Terminal, service: JobService) -> Job:
    return start_job(service)


EFFECT = "out (console): rows are written again and appended to those written since"


def write(directory: Path, text: str) -> str:
    file = directory / "pipeline.yaml"
    file.write_text(text)
    return str(file)


def test_upgrade_moves_the_state_and_restore_goes_back(
    terminal: Terminal, service: JobService, job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = Pipeline.from_yaml_text(DOCUMENT)._plan()
    plan = {"restore_effects": list(restore_effects(graph))}  # as the driver writes it
    service.directory(job.id).plan.write_text(json.dumps(plan))
    assert terminal.json("savepoint", job.id, "first")["id"] == job.id
    wait_for(service, job, JobState.RUNNING)
    saved = terminal.json("upgrade", job.id, write(tmp_path, RENAMED))["savepoint"]
    upgraded = wait_for(service, job, JobState.RUNNING)
    assert (saved, queries(service, job)) == (f"before-{upgraded.version}", ["totals"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["jobs", "restore", job.id, "first", "--json", "--url", terminal.url])
    listed = capsys.readouterr().err.splitlines()
    assert listed == ["restoring the savepoint first: sinks keep their rows", f"  {EFFECT}"]
    wait_for(service, job, JobState.RUNNING)
    for name in (saved, "first"):
        assert terminal.json("restore", job.id, name)["id"] == job.id
        assert wait_for(service, job, JobState.RUNNING).version == job.version
        assert (service.document(job.id), queries(service, job)) == (DOCUMENT, ["counts"])


def test_upgrade_that_needs_a_replay_is_rejected(
    terminal: Terminal, service: JobService, job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["jobs", "upgrade", job.id, write(tmp_path, CHANGED), "--url", terminal.url])
    assert ended.value.code != 0
    assert "needs a replay: `counts`: aggregates were" in capsys.readouterr().err
    assert service.get(job.id).attempts == 1


def test_scale_restarts_the_job_with_other_settings(
    terminal: Terminal, service: JobService, job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    assert terminal.json("scale", job.id, "--partitions", "8")["state"] == "restarting"
    scaled = wait_for(service, job, JobState.RUNNING)
    assert (scaled.settings.partitions, scaled.attempts) == (8, 2)
    with pytest.raises(SystemExit):
        main(["jobs", "scale", job.id, "--executors", "2", "--url", terminal.url])
    assert "a local job has no executors" in capsys.readouterr().err
