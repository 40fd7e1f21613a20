"""Killed at any moment and run again, a pipeline has written every row once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from pathlib import Path

from tests.recovery import payments
from tests.recovery.conftest import KILLED, finish, start

STEPS = (
    "delivery.opened@3",
    "delivery.staged@2",
    "delivery.committed@1",
    "files.staged@2",
    "files.manifest@1",
    "files.shown@1",
    "files.cleaned@2",
    "files.rolled_forward@1",
    "files.fenced@1",
    "sqlite.fenced@1",
    "sqlite.begun@1",
    "sqlite.staged@1",
    "sqlite.rows@1",
    "sqlite.ledger@2",
    "sqlite.committed@1",
)
KILLS = 10


def test_killed_after_every_step_of_the_protocol_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    """One run dies after each step, and each goes on where the last one died."""
    payments.write_input(tmp_path)
    for step in STEPS:
        assert start(tmp_path, {"HEADRACE_FAILPOINT": step}).wait(timeout=300) == KILLED, step
    finish(tmp_path)
    assert payments.results(tmp_path) == undisturbed


def test_killed_at_random_moments_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    """Each run dies within moments of beginning an epoch, so that something is always under way."""
    payments.write_input(tmp_path)
    chance = random.Random()
    killed = 0
    for _ in range(KILLS):
        process = start(tmp_path)
        begun = epochs(tmp_path)
        while process.poll() is None and epochs(tmp_path) == begun:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
        try:
            process.wait(timeout=chance.uniform(0, 2))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
        if process.returncode == 0:
            break
    else:
        finish(tmp_path)
    assert killed >= 3
    assert payments.results(tmp_path) == undisturbed


def epochs(work: Path) -> int:
    """How many epochs have been begun, over all queries."""
    return sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*"))
