"""A job that is scaled by its lag: by the service, with drivers that need no Spark."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from headrace.dashboard.feeds.service import ServiceFeed
from headrace.errors import OptionError
from headrace.jobs.autoscaling import AutoscaleRule
from headrace.jobs.model import JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.jobs.upgrades import JobUpgrades
from tests.services.jobs.conftest import run, submit, wait_for
from tests.services.jobs.test_commands import Terminal
from tests.support.waiting import wait_until

SETTINGS = JobSettings(master="spark://127.0.0.1:7077")
RULE = AutoscaleRule(max_executors=2, lag_above=100, duration="50 milliseconds", cooldown="50 milliseconds")


def set_lag(service: JobService, job: str, lag: int) -> None:
    Path(service.directory(job).path, "lag").write_text(str(lag))


def test_a_burst_scales_a_job_up_and_its_end_scales_it_down_with_a_history(
    client: httpx.Client, service: JobService
) -> None:
    settings = SETTINGS.model_copy(update={"autoscale": RULE})
    job = wait_for(service, submit(service, settings=settings), JobState.RUNNING).id
    feed = ServiceFeed(service)
    page = feed.scaling(job)
    assert page is not None
    assert (page.changes, page.executors) == ([], None)
    assert page.rule.startswith("1 to 2 executors; more above a lag of 100")

    set_lag(service, job, 5000)
    wait_until(lambda: service.get(job).settings.executors == 2)
    set_lag(service, job, 50)
    wait_until(lambda: service.get(job).state is JobState.RUNNING)
    set_lag(service, job, 0)
    wait_until(lambda: service.get(job).settings.executors == 1)
    wait_until(lambda: service.get(job).state is JobState.RUNNING)

    page = feed.scaling(job)
    assert page is not None
    assert [text.split(",")[0] for _, text in page.changes] == [
        "scaled down from 2 to 1 executors: lag 0",
        "scaled up from 1 to 2 executors: lag 5",
    ]
    html = client.get(f"/jobs/{job}/runs").text
    assert "By lag: 1 to 2 executors" in html
    assert "scaled up from 1 to 2 executors: lag 5,000, above 100 for 50 milliseconds" in html
    assert service.get(job).attempts == 3


def test_the_command_sets_and_removes_the_rule_of_a_running_job(
    client: httpx.Client, service: JobService
) -> None:
    job = wait_for(service, submit(service, settings=SETTINGS), JobState.RUNNING).id
    terminal = Terminal(str(client.base_url))
    limits = ("--max", "8", "--lag-above", "1000", "--for", "5 minutes")
    assert terminal.json("autoscale", job, *limits)["state"] == "running"
    assert service.get(job).settings.autoscale == AutoscaleRule(
        max_executors=8, lag_above=1000, duration="5 minutes"
    )
    assert client.get(f"/api/v1/jobs/{job}").json()["settings"]["autoscale"]["max_executors"] == 8
    terminal.json("autoscale", job, "--off")
    assert service.get(job).settings.autoscale is None
    assert service.get(job).attempts == 1
    with pytest.raises(OptionError, match="autoscale: expected --max and --lag-above, or --off"):
        terminal.run("autoscale", job)


def test_a_local_job_cannot_have_a_rule(running: JobService) -> None:
    job = run(running).id
    with pytest.raises(OptionError, match="autoscale: a local job has no executors"):
        JobUpgrades(running).autoscale(job, RULE)
