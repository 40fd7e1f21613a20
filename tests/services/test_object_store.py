"""Files in S3, against moto: read and written by runs that are killed, with every row once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.spark.jars import fetch
from headrace.testing.delivery.sinks import kill_at_random
from tests.services import object_store
from tests.services.object_store import BUCKET, results, write_input
from tests.support.kinesis_server import running_kinesis

KILLED = -9
STEP = "files.shown@2"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    fetch("s3")
    with running_kinesis() as server:
        object_store.client(server.endpoint).create_bucket(Bucket=BUCKET)
        yield server.endpoint


def start(endpoint: str, name: str, work: Path, failpoint: str = "") -> subprocess.Popen[bytes]:
    """Start a run; its output goes to a file for the report of a failure."""
    environment = {**os.environ, **({"HEADRACE_FAILPOINT": failpoint} if failpoint else {})}
    with (work / "output.txt").open("ab") as output:
        command = [sys.executable, object_store.__file__, endpoint, name, str(work)]
        return subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )


def finish(endpoint: str, name: str, work: Path) -> None:
    assert start(endpoint, name, work).wait(timeout=900) == 0, (work / "output.txt").read_text()[-4000:]


def test_killed_while_a_commit_is_under_way_every_row_is_in_the_bucket_once(
    endpoint: str, tmp_path: Path
) -> None:
    expected = write_input(endpoint, "steps")
    status = start(endpoint, "steps", tmp_path, STEP).wait(timeout=900)
    assert status == KILLED, (tmp_path / "output.txt").read_text()[-4000:]
    finish(endpoint, "steps", tmp_path)
    assert results(endpoint, "steps") == expected


@pytest.mark.proof
def test_killed_twenty_times_at_random_every_row_is_in_the_bucket_once(endpoint: str, tmp_path: Path) -> None:
    kills = 0
    while kills < 20:
        name = f"random-{kills}"
        (work := tmp_path / name).mkdir()
        expected = write_input(endpoint, name)
        kills += kill_at_random(
            lambda name=name, work=work: start(endpoint, name, work),  # type: ignore[misc]
            lambda work=work: sum(1 for _ in work.glob("checkpoint/queries/*/spark/offsets/[0-9]*")),  # type: ignore[misc]
            finished=(work / "checkpoint" / "drained").exists,
            kills=20 - kills,
        )
        assert results(endpoint, name) == expected
