"""Files that are missing from the logs of a query, and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.checkpoints import write_epochs, write_sealed

from headrace.checkpoints.integrity.continuity import check_logs, copy_times, newest_times
from headrace.checkpoints.layout import write_record
from headrace.sealed_files import read_sealed


def write_source_log(query: Path, files: list[str], *, read: int, epoch: int = 4) -> Path:
    """Write the log of a file source, and offsets that have read it up to a number."""
    log = query / "spark" / "sources" / "0"
    for name in files:
        entry = {"path": f"file:///in/{name}.json", "timestamp": 0, "batchId": int(name.partition(".")[0])}
        write_sealed(log / name, f"v1\n{json.dumps(entry)}")
    write_sealed(query / "spark" / "offsets" / str(epoch), f'v1\n{{}}\n{{"logOffset":{read}}}\n-')
    return log


def damaged(query: Path) -> list[str]:
    return [str(damage.file.relative_to(query / "spark")) for damage in check_logs(query)]


def test_intact_logs_have_no_damage(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    assert damaged(tmp_path) == []
    assert damaged(tmp_path / "new") == []


def test_the_last_epoch_may_be_without_a_commit(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=4)
    assert damaged(tmp_path) == []


def test_files_that_spark_has_removed_are_not_missing(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    for name in ("offsets/0", "offsets/1", "commits/0"):
        (tmp_path / "spark" / name).unlink()
    assert damaged(tmp_path) == []


@pytest.mark.parametrize(
    "file", ["offsets/2", "offsets/4", "commits/2", "offsets/3", "commits/3", "metadata"]
)
def test_missing_file_is_found(tmp_path: Path, file: str) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    (tmp_path / "spark" / file).unlink()
    assert damaged(tmp_path) == [file]


def test_two_epochs_without_a_commit_are_a_damage(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=3)
    assert damaged(tmp_path) == ["commits/3"]


def test_missing_entry_of_a_file_source_is_found_also_if_later_epochs_had_no_files(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    log = write_source_log(tmp_path, ["0", "1", "2", "3"], read=3)
    assert damaged(tmp_path) == []
    (log / "3").unlink()
    assert damaged(tmp_path) == ["sources/0/3"]
    (log / "1").unlink()
    assert damaged(tmp_path) == ["sources/0/1", "sources/0/3"]


def test_log_of_a_file_source_that_is_gone_is_found(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    log = write_source_log(tmp_path, ["0"], read=0)
    (log / "0").unlink()
    assert damaged(tmp_path) == ["sources/0/0"]


def test_compacted_entries_replace_those_before_them(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    log = write_source_log(tmp_path, ["8", "9.compact", "10", "11"], read=11)
    assert damaged(tmp_path) == []
    (log / "9.compact").unlink()
    assert damaged(tmp_path) == [f"sources/0/{number}" for number in [*range(8), 9]]


def test_entries_that_no_epoch_has_read_yet_are_no_damage(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    write_source_log(tmp_path, ["0", "1", "2"], read=1)
    assert damaged(tmp_path) == []


@pytest.mark.parametrize(
    "file",
    ["offsets/4", "offsets/3", "commits/4", "sources/0/0", "metadata", "state/0/_metadata/metadata",
     "state/0/_metadata/v2/0", "state/0/_stateSchema/default/0_x", "state/0/1/_metadata/schema"],
)  # fmt: skip
def test_damaged_file_is_found(tmp_path: Path, file: str) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    if not (path := tmp_path / "spark" / file).exists():
        write_sealed(path)
    assert damaged(tmp_path) == []
    path.write_bytes(b"x" + path.read_bytes()[1:])
    (damage,) = check_logs(tmp_path)
    assert damage.file == path
    assert "checksum does not match" in str(damage.error())
    assert "restore a savepoint" in damage.error().hint


def test_older_epochs_that_are_not_read_again_do_not_matter_to_a_run(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    (tmp_path / "spark" / "offsets" / "1").write_bytes(b"")
    assert damaged(tmp_path) == []


def test_a_source_that_is_read_twice_has_two_offsets_and_one_log(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=5)
    write_source_log(tmp_path, ["0", "1"], read=1)
    offsets = tmp_path / "spark" / "offsets" / "4"
    write_sealed(offsets, 'v1\n{}\n{"logOffset":1}\n{"logOffset":1}\n-')
    assert damaged(tmp_path) == ["sources/1/0", "sources/1/1"]
    write_record(tmp_path, "sources.json", {"(modes)": [], "totals": ["rows of another query"]})
    assert damaged(tmp_path) == []


def test_damaged_event_times_of_partitions_are_found(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=4)
    before, last = (tmp_path / "watermarks" / "tx" / f"{epoch}.json" for epoch in (2, 3))
    for file in (before, last):
        write_sealed(file, '{"payments-0":1700000000000}')
    assert list(check_logs(tmp_path)) == []
    content = last.read_bytes()
    for damaged in (content.replace(b":17", b":97"), content[:20], b"", before.read_bytes()):
        last.write_bytes(damaged)
        assert [damage.file for damage in check_logs(tmp_path)] == [last]


def test_missing_event_times_of_partitions_are_found(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=5, committed=4)
    before, last, uncommitted = (tmp_path / "watermarks" / "tx" / f"{epoch}.json" for epoch in (2, 3, 4))
    for file in (before, last, uncommitted):
        write_sealed(file, '{"payments-0":1700000000000}')
    assert list(check_logs(tmp_path)) == []
    uncommitted.unlink()
    before.unlink()
    assert list(check_logs(tmp_path)) == []
    last.unlink()
    assert [damage.file for damage in check_logs(tmp_path)] == [last]


def test_event_times_are_copied_to_the_epoch_of_a_repartition(tmp_path: Path) -> None:
    write_epochs(tmp_path, started=4, committed=4)
    write_sealed(tmp_path / "watermarks" / "tx" / "3.json", '{"payments-0":1700000000000}')
    times = newest_times(tmp_path)
    write_epochs(tmp_path, started=5, committed=5)
    copy_times(times, tmp_path)
    assert list(check_logs(tmp_path)) == []
    assert read_sealed(tmp_path / "watermarks" / "tx" / "4.json", hint="") == {"payments-0": 1700000000000}
