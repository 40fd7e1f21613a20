"""Killed after every step of the commit protocol, a pipeline has written every row once.

Each kill takes the start of a Spark process, so CI runs the sample in `test_kill.py`; `make delivery` runs all.
"""

from __future__ import annotations

from pathlib import Path

from tests.recovery import payments
from tests.recovery.conftest import kill_after_each

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


def test_killed_after_every_step_of_the_protocol_every_row_is_there_once(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    kill_after_each(STEPS, tmp_path)
    assert payments.results(tmp_path) == undisturbed
