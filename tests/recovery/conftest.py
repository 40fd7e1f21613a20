"""Running the pipeline of `payments.py` in processes of their own, so that they can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.recovery import payments

SCRIPT = Path(payments.__file__)
KILLED = -9
SPARK_READS = "SPARK_SUBMIT_OPTS"
"""The variable from which Spark's launcher takes options for the JVM of a run."""
_loaded: dict[str, str] = {}
"""What has a JVM take Spark's classes as an earlier one had loaded them: most of a run that is killed is
loading them.
"""


def start(work: Path, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """A run of the pipeline; its output goes to a file, so that a failure can be told."""
    with (work / "output.txt").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), str(work)],
            stdout=output,
            stderr=output,
            env={**os.environ, **_loaded, **(settings or {})},
            start_new_session=True,
        )


def finish(work: Path, settings: Mapping[str, str] | None = None) -> None:
    """Run to the end and show what was said if that fails."""
    status = start(work, settings).wait(timeout=900)
    assert status == 0, (work / "output.txt").read_text()[-4000:]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a run that nobody kills writes; it leaves its classes to those that are killed."""
    work = tmp_path_factory.mktemp("undisturbed")
    classes = work / "classes.jsa"
    payments.write_input(work)
    finish(work, {SPARK_READS: f"-XX:ArchiveClassesAtExit={classes}"})
    if classes.exists():
        _loaded[SPARK_READS] = f"-XX:SharedArchiveFile={classes}"
    results = payments.results(work)
    assert all(results.values()), results
    return results
