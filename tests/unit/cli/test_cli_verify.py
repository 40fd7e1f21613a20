"""`headrace verify` and `headrace checkpoint upgrade` on a directory that a run has left."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs

from headrace.checkpoints.layout import renew_checkpoint_id
from headrace.checkpoints.owner import write_owner

Call = Callable[..., subprocess.CompletedProcess[str]]
DIRECTORY = ".headrace/words"
COMMIT = f"{DIRECTORY}/queries/counts/spark/commits/1"


@pytest.fixture
def checkpoint(here: Path) -> Path:
    directory = here / DIRECTORY
    write_epochs(directory / "queries" / "counts", started=2, committed=2)
    renew_checkpoint_id(directory / "queries" / "counts")
    write_owner(directory, "words")
    return directory


def test_intact_directory_is_listed(call: Call, checkpoint: Path) -> None:
    done = call("verify", DIRECTORY)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "files                      number  result",
        "owner                      1       good",
        "records of queries         1       good",
        "offsets and commits        4       good",
        "logs of sources, metadata  1       good",
    ]
    assert done.stderr == f"{DIRECTORY}: no damage\n"


def test_damage_is_reported_with_its_file_and_exit_status_1(call: Call, checkpoint: Path) -> None:
    (checkpoint / "queries/counts/spark/commits/1").write_bytes(b"")
    done = call("verify", DIRECTORY)
    assert done.returncode == 1
    assert "offsets and commits        4       1 damaged or missing" in done.stdout
    assert f"{COMMIT}: the file is empty" in done.stderr
    assert "hint: restore a savepoint" in done.stderr
    data = json.loads(call("verify", DIRECTORY, "--json").stdout)
    assert data["damages"] == [
        {
            "file": COMMIT,
            "problem": "the file is empty",
            "lost": "the input and the watermark of an epoch",
            "hint": "restore a savepoint (headrace savepoint restore), or start over with --fresh",
        }
    ]
    assert {"files": "offsets and commits", "number": 4, "damages": 1} in data["checked"]


def test_directory_without_a_checkpoint_is_an_error(call: Call) -> None:
    for words in (("verify", "nowhere"), ("checkpoint", "upgrade", "nowhere")):
        done = call(*words)
        assert done.returncode == 2
        assert "nowhere: there is no checkpoint" in done.stderr


def test_upgrade_of_0_2(call: Call, checkpoint: Path) -> None:
    assert "its files have checksums already" in call("checkpoint", "upgrade", DIRECTORY).stderr
    for file in checkpoint.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().partition(b"\n#seal")[0])
    (checkpoint / "pipeline").write_text("words")
    done = call("verify", DIRECTORY)
    assert done.returncode == 2
    assert f"hint: upgrade it with headrace checkpoint upgrade {DIRECTORY}" in done.stderr
    assert json.loads(call("checkpoint", "upgrade", DIRECTORY, "--json").stdout)["files"] == 7
    assert call("verify", DIRECTORY).returncode == 0
