"""The rule that scales jobs by their lag: limits, durations, the cooldown."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import ValidationError

from headrace.errors import OptionError
from headrace.jobs.autoscaling import Autoscaler, AutoscaleRule
from headrace.jobs.model import JobSettings
from headrace.jobs.security.documents import apply_defaults
from headrace.jobs.security.policy import Policy

RULE = AutoscaleRule(
    max_executors=4,
    lag_above=100,
    lag_below=10,
    duration="10 seconds",
    cooldown="1 minute",
    partitions_per_executor=2,
)


class Bench:
    """A job under a rule, with a clock: each change restarts it."""

    def __init__(self, rule: AutoscaleRule = RULE) -> None:
        self.settings: dict[str, Any] = {"autoscale": rule.model_dump()}
        self.now, self.started = 1000.0, 1000.0
        self.changes: list[tuple[float, int, int | None]] = []
        self.reasons: list[str] = []
        self.error: OptionError | None = None
        self.scaler = Autoscaler(self._scale, lambda job: self.started, clock=lambda: self.now)

    def _scale(self, job: str, executors: int, partitions: int | None, reason: str) -> None:
        if self.error:
            raise self.error
        self.changes.append((self.now - 1000, executors, partitions))
        self.reasons.append(reason)
        self.settings["executors"] = executors
        self.started = self.now

    def run(self, seconds: int, lag: int | None, state: str = "running") -> None:
        for _ in range(seconds):
            self.now += 1
            job = {"id": "j", "state": state, "settings": self.settings, "metrics": {"lag": lag}}
            self.scaler.observe([job])


def test_a_burst_doubles_the_executors_up_to_the_limit_and_its_end_halves_them_again() -> None:
    bench = Bench()
    bench.run(60, lag=50)
    bench.run(200, lag=5000)
    assert bench.changes == [(71, 2, 4), (131, 4, 8)]
    assert bench.reasons[0] == "scaled up from 1 to 2 executors: lag 5,000, above 100 for 10 seconds"
    bench.run(300, lag=0)
    assert bench.changes[2:] == [(271, 2, 4), (331, 1, 2)]
    assert bench.reasons[-1] == "scaled down from 2 to 1 executors: lag 0, at most 10 for 10 seconds"


def test_a_lag_that_is_short_or_between_the_limits_changes_nothing() -> None:
    bench = Bench()
    for _ in range(20):
        bench.run(9, lag=5000)
        bench.run(9, lag=50)
    bench.run(100, lag=None)
    assert bench.changes == []


def test_a_lag_above_and_then_below_begins_to_count_again() -> None:
    bench = Bench()
    bench.settings["executors"] = 2
    bench.run(60, lag=50)
    for _ in range(20):
        bench.run(9, lag=5000)
        bench.run(9, lag=0)
    assert bench.changes == []


def test_only_a_running_job_is_scaled_and_its_restart_begins_to_count_again() -> None:
    bench = Bench()
    bench.run(100, lag=5000, state="restarting")
    bench.run(10, lag=5000)
    assert bench.changes == []
    bench.run(1, lag=5000)
    assert bench.changes == [(111, 2, 4)]


def test_a_job_that_cannot_be_scaled_is_logged_and_tried_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    bench.error = OptionError("the store is away", where="store")
    with caplog.at_level(logging.WARNING, logger="headrace.jobs"):
        bench.run(65, lag=5000)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("job j is not scaled up from 1 to 2 executors: lag 5,000")
    bench.error = None
    bench.run(10, lag=5000)
    assert len(bench.changes) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_executors": 1, "min_executors": 2}, "max_executors 1 is less than min_executors 2"),
        ({"lag_above": 10, "lag_below": 10}, "lag_below 10 is not less than lag_above 10"),
        ({"duration": "10 secunds"}, "secunds"),
    ],
)
def test_a_wrong_rule_is_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AutoscaleRule.model_validate({"max_executors": 2, "lag_above": 100, **wrong})


def test_a_job_with_a_rule_starts_with_the_smallest_size() -> None:
    from headrace.runtime.options import RunOptions

    settings = JobSettings(master="spark://h:7077", autoscale=RULE)
    conf = settings.run_options(RunOptions()).conf
    assert (conf["spark.cores.max"], conf["spark.sql.shuffle.partitions"]) == ("1", "2")
    grown = JobSettings(master="spark://h:7077", autoscale=RULE, executors=4, partitions=8)
    assert grown.run_options(RunOptions()).conf["spark.cores.max"] == "4"


def test_a_local_job_cannot_have_a_rule() -> None:
    settings = JobSettings(autoscale=RULE)
    with pytest.raises(OptionError, match="autoscale: a local job has no executors"):
        apply_defaults(settings, Policy())
    assert apply_defaults(settings, Policy(master="spark://h:7077")).master == "spark://h:7077"
