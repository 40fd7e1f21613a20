"""Killed at any moment and run again, a pipeline has written every row once."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing.delivery.sinks import kill_at_random
from tests.recovery import payments
from tests.recovery.conftest import kill_after_each, start

SAMPLE = ("delivery.staged@2", "delta.read@1", "files.rolled_forward@1", "sqlite.ledger@2")
ALL_STEPS = (
    "delivery.opened@3", "delivery.staged@2", "delivery.synced@1", "delivery.committed@1", "files.staged@2", "files.manifest@1",
    "files.shown@1", "files.cleaned@2", "files.rolled_forward@1", "files.fenced@1", "sqlite.fenced@1", "sqlite.begun@1",
    "sqlite.staged@1", "sqlite.rows@1", "sqlite.ledger@2", "sqlite.committed@1",
)  # fmt: skip
DELTA_STEPS = (
    "delta.created@1", "delta.swept@1", "delta.staged@1", "delta.read@1", "delta.committed@1", "delta.cleaned@1",
)  # fmt: skip
KILLS = 3
"""A sample; `make delivery` kills every pair of a source and a sink at 20 moments."""


def test_killed_between_staging_and_commit_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    kill_after_each(SAMPLE, tmp_path)
    assert payments.results(tmp_path) == undisturbed
    assert_balanced(tmp_path)


@pytest.mark.proof
def test_killed_after_every_step_of_the_protocol_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    kill_after_each(ALL_STEPS, tmp_path)
    assert payments.results(tmp_path) == undisturbed
    assert_balanced(tmp_path)


@pytest.mark.proof
def test_killed_after_every_step_of_a_delta_commit_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    kill_after_each(DELTA_STEPS, tmp_path)
    assert payments.results(tmp_path) == undisturbed


def test_killed_at_random_moments_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    """Each run dies within moments of beginning an epoch, so that something is always under way."""
    payments.write_input(tmp_path)
    drained = tmp_path / "checkpoint" / "drained"
    killed = kill_at_random(
        lambda: start(tmp_path), lambda: epochs(tmp_path), finished=drained.exists, kills=KILLS
    )
    assert killed >= 2
    assert payments.results(tmp_path) == undisturbed
    assert_balanced(tmp_path)


def assert_balanced(work: Path) -> None:
    """Check that every row is accounted for once, over all runs and in the last one."""
    accountings = payments.accountings(work)
    assert [step for step, rows in accountings.items() if not rows.balanced] == []
    whole = accountings["sevens"]
    assert (whole.rows, whole.in_open_windows) == (payments.FILES * payments.ROWS, 0)


def epochs(work: Path) -> int:
    """Return the number of started epochs over all queries."""
    return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))
