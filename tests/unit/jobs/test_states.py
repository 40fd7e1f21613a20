"""States of jobs and their transitions."""

from __future__ import annotations

import pytest

from headrace.jobs.driver import GENERATORS_END_NOW, drain_options
from headrace.jobs.states import ENDED, TRANSITIONS, JobState, is_legal
from headrace.runtime.options import RunOptions


def test_every_state_has_an_entry_in_the_table() -> None:
    assert set(TRANSITIONS) == set(JobState)


def test_the_states_are_those_of_the_contract() -> None:
    expected = "submitted starting running stopping stopped draining drained restarting failed killed"
    assert [str(state) for state in JobState] == expected.split()


@pytest.mark.parametrize("state", sorted(ENDED))
def test_a_job_that_has_ended_only_starts_again(state: JobState) -> None:
    assert TRANSITIONS[state] <= {JobState.STARTING}


def test_a_drained_job_never_starts_again() -> None:
    assert not TRANSITIONS[JobState.DRAINED]


@pytest.mark.parametrize("state", sorted(set(JobState) - ENDED))
def test_every_active_job_can_be_killed(state: JobState) -> None:
    assert is_legal(state, JobState.KILLED)


def test_every_state_is_reachable() -> None:
    reached, todo = {JobState.SUBMITTED}, [JobState.SUBMITTED]
    while todo:
        new = TRANSITIONS[todo.pop()] - reached
        reached |= new
        todo += new
    assert reached == set(JobState)


def test_drain_on_request_ends_generators_and_keeps_the_other_settings() -> None:
    options = drain_options(RunOptions(every="5 seconds", conf={"spark.driver.memory": "1g"}))
    assert (options.until, options.every) == ("drained", None)
    assert options.conf == {"spark.driver.memory": "1g", GENERATORS_END_NOW: "true"}
