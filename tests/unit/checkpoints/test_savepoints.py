"""Savepoints are complete copies, are created and replaced atomically, and get new checkpoint ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs, write_sealed

from headrace.checkpoints.directory import PipelineDirectory, restoring_path
from headrace.checkpoints.integrity.upgrade import upgrade_checkpoint
from headrace.checkpoints.layout import read_checkpoint_id, renew_checkpoint_id
from headrace.checkpoints.owner import write_owner
from headrace.checkpoints.savepoints import (
    create_savepoint,
    delete_savepoint,
    list_savepoints,
    restore_savepoint,
)
from headrace.connectors.files.ledger import LedgerLog
from headrace.connectors.files.store import LocalStore
from headrace.errors import OptionError


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a checkpoint directory with one query and one exchange."""
    directory = tmp_path / "fraud"
    query = directory / "queries" / "totals"
    write_epochs(query)
    checkpoint_id = renew_checkpoint_id(query)
    (query / "accounting.jsonl").write_text("one\n")
    ledger = directory / "exchange" / "totals" / "_headrace" / "fraud.totals" / "log"
    write_sealed(ledger / "0000000001", json.dumps({"number": 1, "token": 1, "epochs": {checkpoint_id: 0}}))
    write_owner(directory, "fraud")
    (directory / "logs").mkdir()
    return directory


def test_savepoint_holds_the_checkpoint_without_lock_and_logs(directory: Path) -> None:
    savepoint = create_savepoint("fraud", directory, "v1")
    assert savepoint.epochs == {"totals": 0}
    assert (savepoint.path / "queries/totals/spark/commits/0").read_bytes().startswith(b"v1\n{}\n")
    assert not (savepoint.path / "lock").exists()
    assert not (savepoint.path / "logs").exists()
    assert list_savepoints(directory) == [savepoint]


def test_later_epochs_do_not_change_a_savepoint(directory: Path) -> None:
    savepoint = create_savepoint("fraud", directory, "v1")
    with (directory / "queries/totals/accounting.jsonl").open("a") as log:
        log.write("two\n")
    (directory / "queries/totals/spark/commits/0").unlink()
    assert (savepoint.path / "queries/totals/accounting.jsonl").read_text() == "one\n"
    assert (savepoint.path / "queries/totals/spark/commits/0").exists()


def test_restore_moves_the_checkpoint_aside_and_renews_its_ids(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    (directory / "queries/totals/spark/commits/1").write_text("v1\n{}\n")
    aside = restore_savepoint("fraud", directory, "v1")
    assert aside == directory.with_name("fraud.old-1")
    assert (aside / "queries/totals/spark/commits/1").exists()
    assert not (directory / "queries/totals/spark/commits/1").exists()
    old_id, new_id = (read_checkpoint_id(place / "queries/totals") for place in (aside, directory))
    assert new_id != old_id
    ledger = LedgerLog(LocalStore(), str(directory / "exchange/totals/_headrace/fraud.totals/log"))
    assert ledger.read().epochs == {new_id: 0}
    again = restore_savepoint("fraud", directory, "v1")
    assert again == directory.with_name("fraud.old-2")


def test_restore_into_a_deleted_directory_moves_nothing_aside(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    directory.rename(directory.with_name("elsewhere"))
    assert restore_savepoint("fraud", directory, "v1") is None
    assert (directory / "queries/totals/spark/commits/0").exists()


def test_restore_after_a_drain_lets_the_pipeline_run_again(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    (directory / "drained").touch()
    restore_savepoint("fraud", directory, "v1")
    PipelineDirectory.acquire("fraud", directory).release()


def test_running_pipeline_is_rejected(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    held = PipelineDirectory.acquire("fraud", directory)
    for act in (create_savepoint, restore_savepoint):
        with pytest.raises(OptionError, match="another run of the pipeline is using it"):
            act("fraud", directory, "v2" if act is create_savepoint else "v1")
    held.release()
    assert [savepoint.name for savepoint in list_savepoints(directory)] == ["v1"]


def test_interrupted_restore_is_not_taken_for_a_new_pipeline(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    restoring_path(directory).mkdir()
    directory.rename(directory.with_name("fraud.old-1"))
    with pytest.raises(OptionError, match="the restore of a savepoint was interrupted"):
        PipelineDirectory.acquire("fraud", directory)
    restore_savepoint("fraud", directory, "v1")
    PipelineDirectory.acquire("fraud", directory).release()


def test_wrong_names_and_places_are_rejected(directory: Path, tmp_path: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    with pytest.raises(OptionError, match="the savepoint `v1` already exists"):
        create_savepoint("fraud", directory, "v1")
    with pytest.raises(OptionError, match="invalid savepoint name"):
        create_savepoint("fraud", directory, "../v1")
    with pytest.raises(OptionError, match="unknown savepoint `v2`"):
        restore_savepoint("fraud", directory, "v2")
    with pytest.raises(OptionError, match="another pipeline, `fraud`"):
        restore_savepoint("other", directory, "v1")
    with pytest.raises(OptionError, match="there is no checkpoint"):
        create_savepoint("fraud", tmp_path / "none", "v1")
    moved = tmp_path / "moved"
    directory.rename(moved)
    directory.with_name("fraud.savepoints").rename(moved.with_name("moved.savepoints"))
    with pytest.raises(OptionError, match="contains paths of the directory"):
        restore_savepoint("fraud", moved, "v1")


def test_deleted_savepoint_is_gone(directory: Path) -> None:
    create_savepoint("fraud", directory, "v1")
    delete_savepoint(directory, "v1")
    assert list_savepoints(directory) == []
    with pytest.raises(OptionError, match="unknown savepoint `v1`"):
        delete_savepoint(directory, "v1")


def test_savepoint_of_0_2_is_refused_until_it_is_upgraded(directory: Path) -> None:
    savepoint = create_savepoint("fraud", directory, "v1")
    for file in savepoint.path.rglob("*"):
        if file.is_file() and b"#seal" in file.read_bytes():
            content = file.read_bytes().partition(b"\n#seal")[0]
            file.unlink()  # it may be a hard link to the file of the checkpoint
            file.write_bytes(content)
    (savepoint.path / "pipeline").write_text("fraud")
    with pytest.raises(OptionError, match=r"the savepoint was written by headrace 0\.2") as caught:
        list_savepoints(directory)
    assert caught.value.hint == f"upgrade it with headrace checkpoint upgrade {savepoint.path}"
    upgrade_checkpoint(savepoint.path)
    assert list_savepoints(directory) == [savepoint]
