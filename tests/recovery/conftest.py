"""Running the pipeline of `payments.py` in processes of their own, so that they can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.recovery import payments

SCRIPT = Path(payments.__file__)
KILLED = -9


def start(work: Path, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a run of the pipeline; its output goes to a file for the report of a failure."""
    with (work / "output.txt").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), str(work)],
            stdout=output,
            stderr=output,
            env={**os.environ, **(settings or {})},
            start_new_session=True,
        )


def finish(work: Path, settings: Mapping[str, str] | None = None) -> None:
    """Run to the end and show the output on failure."""
    status = start(work, settings).wait(timeout=900)
    assert status == 0, (work / "output.txt").read_text()[-4000:]


def kill_after_each(steps: Sequence[str], work: Path) -> None:
    """Write the input, and kill one run after each step; each resumes where the last one died, the last ends."""
    payments.write_input(work)
    for step in steps:
        assert start(work, {"HEADRACE_FAILPOINT": step}).wait(timeout=900) == KILLED, step
    finish(work)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the output of a run that is not killed."""
    work = tmp_path_factory.mktemp("undisturbed")
    payments.write_input(work)
    finish(work)
    results = payments.results(work)
    assert all(results.values()), results
    return results
