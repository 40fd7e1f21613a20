"""The verification of a checkpoint directory, by a run and by `headrace verify`; the upgrade of version 0.2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs, write_sealed

from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.integrity import upgrade
from headrace.checkpoints.integrity.upgrade import upgrade_checkpoint
from headrace.checkpoints.integrity.verification import Part, verify
from headrace.checkpoints.journal import append_line, read_lines
from headrace.checkpoints.layout import read_checkpoint_id, read_record, renew_checkpoint_id, write_record
from headrace.checkpoints.lock import DirectoryLock
from headrace.checkpoints.owner import read_owner, write_owner
from headrace.connectors.durable_files import write_durably, write_json
from headrace.connectors.write_ahead_log import Message
from headrace.connectors.write_ahead_log.records import encode
from headrace.errors import DamagedFileError, OptionError

ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a checkpoint directory with a file of each kind."""
    directory = tmp_path / "fraud"
    query = directory / "queries" / "totals"
    write_epochs(query, started=3, committed=3)
    renew_checkpoint_id(query)
    write_record(query, "step.json", {"version": 2})
    write_record(query, "sources.json", {"tx": []})
    append_line(query / "row_accounting.jsonl", {"epoch": 0})
    append_line(query / "row_accounting.jsonl", {"epoch": 1})
    write_sealed(query / "lookups" / "home" / "current", "0")
    write_sealed(
        directory / "unrouted" / "late" / "_headrace" / "p.late" / "log" / "0000000001", '{"epochs":{}}'
    )
    write_json(directory / "sources" / "tx" / "poll.json", {"at": 1})
    log = directory / "sources" / "mqtt" / "log"
    log.mkdir(parents=True)
    for first in range(2):
        (log / f"{first:020d}.log").write_bytes(encode(Message(b"on")))
    write_owner(directory, "fraud")
    return directory


def damages(parts: list[Part]) -> dict[str, list[str]]:
    return {part.name: [damage.file.name for damage in part.damages] for part in parts if part.damages}


def downgrade(directory: Path) -> None:
    """Remove the checksums, as in a directory of version 0.2."""
    for file in directory.rglob("*"):
        if file.is_file() and b"#seal" in file.read_bytes():
            parts = file.read_bytes().split(b"\n#seal ")
            file.write_bytes(parts[0])
    journal = directory / "queries/totals/row_accounting.jsonl"
    journal.write_text('{"epoch": 0}\n{"epoch": 1}\n{"epo')
    (directory / "queries/totals/checkpoint_id").write_text(ID)
    (directory / "pipeline").write_text("fraud")


def test_every_kind_of_file_is_counted(directory: Path) -> None:
    parts = {part.name: part.files for part in verify(directory) if part.files}
    assert parts == {
        "owner": 1,
        "records of queries": 3,
        "offsets and commits": 6,
        "logs of sources, metadata": 1,
        "journals": 1,
        "tables of lookups": 1,
        "side outputs": 1,
        "records of connectors": 1,
        "write-ahead logs": 2,
    }
    assert damages(verify(directory)) == {}


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("pipeline", "owner"),
        ("queries/totals/step.json", "records of queries"),
        ("queries/totals/sources.json", "records of queries"),
        ("queries/totals/checkpoint_id", "records of queries"),
        ("queries/totals/spark/offsets/0", "offsets and commits"),
        ("queries/totals/spark/commits/2", "offsets and commits"),
        ("queries/totals/spark/metadata", "logs of sources, metadata"),
        ("queries/totals/row_accounting.jsonl", "journals"),
        ("queries/totals/lookups/home/current", "tables of lookups"),
        ("unrouted/late/_headrace/p.late/log/0000000001", "side outputs"),
        ("sources/tx/poll.json", "records of connectors"),
        ("sources/mqtt/log/00000000000000000000.log", "write-ahead logs"),
    ],
)
def test_flipped_bit_is_found(directory: Path, file: str, part: str) -> None:
    content = bytearray((directory / file).read_bytes())
    content[5] ^= 1
    (directory / file).write_bytes(content)
    assert damages(verify(directory)) == {part: [Path(file).name]}


def test_a_damaged_model_is_found(directory: Path) -> None:
    """Not in the directory above: version 0.2, from which checkpoints are upgraded, has no models."""
    stored = directory / "queries" / "totals" / "models" / "risk"
    for name in ("current", "v1-1f0c9a4e.model"):
        write_sealed(stored / name, "v1-1f0c9a4e")
    assert {part.name: part.files for part in verify(directory)}["models"] == 2
    assert damages(verify(directory)) == {}
    (stored / "v1-1f0c9a4e.model").write_bytes(b"")
    assert damages(verify(directory)) == {"models": ["v1-1f0c9a4e.model"]}


def test_a_journal_without_the_version_of_the_last_epoch_is_found(directory: Path) -> None:
    stored = directory / "queries" / "totals" / "models" / "risk"
    write_sealed(stored / "current", "v1-1f0c9a4e\n2")
    append_line(stored / "journal.jsonl", {"epoch": 1, "version": "v1-1f0c9a4e"})
    assert damages(verify(directory)) == {"journals": ["journal.jsonl"]}
    append_line(stored / "journal.jsonl", {"epoch": 2, "version": "v1-1f0c9a4e"})
    assert damages(verify(directory)) == {}


def test_missing_checkpoint_id_is_found(directory: Path) -> None:
    (directory / "queries/totals/checkpoint_id").unlink()
    assert damages(verify(directory)) == {"records of queries": ["checkpoint_id"]}
    with pytest.raises(DamagedFileError, match="the file is missing: sinks could not recognise the epochs"):
        read_checkpoint_id(directory / "queries" / "totals")


def test_a_run_is_refused_before_it_starts_spark_and_releases_the_lock(directory: Path) -> None:
    file = directory / "queries/totals/spark/commits/2"
    file.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(
            DamagedFileError, match="the file is empty: the watermark and the state"
        ) as caught:
            PipelineDirectory.acquire("fraud", directory)
    assert caught.value.where == str(file)
    assert caught.value.hint == "restore a savepoint (headrace savepoint restore), or start over with --fresh"


def test_damaged_directory_can_be_moved_aside(directory: Path) -> None:
    (directory / "pipeline").write_bytes(b"\x00")
    with pytest.raises(DamagedFileError, match="checksum does not match"):
        PipelineDirectory.acquire("fraud", directory)
    PipelineDirectory.acquire("fraud", directory, fresh=True).release()
    assert read_owner(directory) == "fraud"


def test_checkpoint_of_0_2_is_refused_and_can_be_upgraded(directory: Path) -> None:
    downgrade(directory)
    with pytest.raises(
        OptionError, match=r"written by headrace 0\.2, whose files have no checksums"
    ) as caught:
        PipelineDirectory.acquire("fraud", directory)
    assert (
        caught.value.hint
        == f"upgrade it with headrace checkpoint upgrade {directory}, or start over with --fresh"
    )
    assert upgrade_checkpoint(directory) == 15
    assert damages(verify(directory)) == {}
    query = directory / "queries" / "totals"
    assert read_checkpoint_id(query) == ID
    assert read_record(query, "step.json") == {"version": 2}
    assert [line["epoch"] for line in read_lines(query / "row_accounting.jsonl")] == [0, 1]
    PipelineDirectory.acquire("fraud", directory).release()
    assert upgrade_checkpoint(directory) == 0


def test_interrupted_upgrade_can_be_repeated(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downgrade(directory)
    written: list[Path] = []

    def write(file: Path, content: bytes) -> None:
        if len(written) % 3 == 2:
            written.append(file)
            raise KeyboardInterrupt
        written.append(file)
        write_durably(file, content)

    monkeypatch.setattr(upgrade, "write_durably", write)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            upgrade_checkpoint(directory)
        with pytest.raises(OptionError, match="the upgrade of the checkpoint was interrupted") as caught:
            PipelineDirectory.acquire("fraud", directory)
        assert caught.value.hint == f"repeat headrace checkpoint upgrade {directory}"
    monkeypatch.undo()
    upgrade_checkpoint(directory)
    assert damages(verify(directory)) == {}


def test_upgrade_is_refused_while_a_run_uses_the_directory(directory: Path) -> None:
    lock = DirectoryLock(directory / "lock")
    lock.acquire()
    lock.record()
    try:
        with pytest.raises(OptionError, match="another run of the pipeline is using it"):
            upgrade_checkpoint(directory)
    finally:
        lock.release()


def test_damaged_owner_is_not_taken_for_version_0_2(directory: Path) -> None:
    (directory / "pipeline").write_text('{"na')
    assert upgrade_checkpoint(directory) == 0
    with pytest.raises(DamagedFileError):
        PipelineDirectory.acquire("fraud", directory)


def test_record_of_a_query_is_json(directory: Path) -> None:
    assert json.loads((directory / "queries/totals/step.json").read_bytes().splitlines()[0]) == {"version": 2}


def test_drained_pipeline_stays_drained_if_the_file_is_lost(directory: Path) -> None:
    acquired = PipelineDirectory.acquire("fraud", directory)
    acquired.mark_drained()
    acquired.release()
    (directory / "drained").unlink()
    with pytest.raises(OptionError, match="the pipeline was drained here"):
        PipelineDirectory.acquire("fraud", directory)
