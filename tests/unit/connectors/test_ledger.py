"""The ledger that all sinks share: epochs per checkpoint id, and fencing."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import headrace.connectors.ledger as ledger_module
from headrace.connectors.base import WriteContext
from headrace.connectors.files.ledger import LedgerLog
from headrace.connectors.files.store import LocalStore
from headrace.connectors.ledger import Ledger, LedgerEntry, LedgerWriter
from headrace.errors import DamagedFileError, FencedError


@dataclass
class Storage:
    """Stores entries in memory; one that does not follow the newest is rejected."""

    entries: list[LedgerEntry] = field(default_factory=lambda: [LedgerEntry()])

    def read(self) -> LedgerEntry:
        return LedgerEntry.decode(self.entries[-1].encode())

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        if entry.number != self.entries[-1].number + 1:
            return False
        self.entries.append(entry)
        return True


def ledger(storage: Storage, checkpoint_id: str = "one") -> Ledger:
    return Ledger(storage, WriteContext("p", "out", checkpoint_id, "append", ""), "`t`")


def test_epochs_are_counted_per_checkpoint() -> None:
    storage = Storage()
    first, second = ledger(storage), ledger(storage, "two")
    assert first.take_over() == -1
    first.commit(0)
    first.commit(1)
    assert (first.last_epoch, first.has(1), first.has(2)) == (1, True, False)
    assert second.take_over() == -1
    second.commit(0)
    assert ledger(storage).take_over() == 1


def test_newer_run_fences_the_older_one() -> None:
    storage = Storage()
    old, new = ledger(storage), ledger(storage)
    old.take_over()
    assert not old.is_overtaken()
    new.take_over()
    assert old.is_overtaken()
    assert new.token == old.token + 1
    message = "out: epoch 3 is not written: a newer run has taken over `t`\n  hint: two runs of one pipeline"
    for act in (old.has, old.commit):
        with pytest.raises(FencedError, match=message):
            act(3)
    new.commit(3)
    assert storage.read().epochs == {"one": 3}


def test_take_over_completes_the_last_commit_and_repeats_after_a_race() -> None:
    storage, completed = Storage(), list[LedgerEntry]()
    ledger(storage).take_over()
    rival = ledger(storage)
    rival.take_over()
    rival.commit(0, {"moves": [["a", "b"]]})

    def complete(entry: LedgerEntry) -> None:
        completed.append(entry)
        if len(completed) == 1:
            rival.commit(1)

    run = ledger(storage)
    assert run.take_over(complete) == 1
    assert [entry.detail for entry in completed] == [{"moves": [["a", "b"]]}, {}]
    assert storage.read() == replace(storage.entries[-1], token=run.token)


def test_entry_keeps_the_newest_checkpoints() -> None:
    entry = LedgerEntry()
    for number in range(40):
        entry = entry.with_epoch(f"c{number}", number, {})
    assert list(entry.epochs) == [f"c{number}" for number in range(8, 40)]
    assert entry.with_epoch("c13", 99, {}).epochs["c13"] == 99


def test_log_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    (tmp_path / "0000000041").write_text('{"run": 3, "epochs": {"old": 7}, "moves": []}')
    log = LedgerLog(LocalStore(), str(tmp_path))
    run = Ledger(log, WriteContext("p", "out", "new", "append", ""), "`t`")
    assert run.take_over() == -1
    run.commit(0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000000041", "0000000042", "0000000043"]
    assert log.read().epochs == {"old": 7, "new": 0}


@pytest.fixture
def log(tmp_path: Path) -> LedgerLog:
    """A ledger with two committed epochs: entries 1 (take over), 2 and 3."""
    log = LedgerLog(LocalStore(), str(tmp_path / "p.out" / "log"))
    run = Ledger(log, WriteContext("p", "out", "c", "append", ""), "`t`")
    run.take_over()
    run.commit(0, {"moves": [["a", "b"]]})
    run.commit(1)
    return log


def entry_path(log: LedgerLog, number: int) -> Path:
    return Path(log.directory) / f"{number:010d}"


def test_flipped_bit_in_an_entry_is_an_error(log: LedgerLog) -> None:
    path = entry_path(log, 3)
    content = path.read_bytes()
    for byte in range(len(content)):
        path.write_bytes(content[:byte] + bytes([content[byte] ^ 1 << byte % 8]) + content[byte + 1 :])
        with pytest.raises(
            DamagedFileError, match="the file is damaged: its checksum does not match"
        ) as caught:
            log.read()
        assert caught.value.where == str(path)


def test_entry_that_is_cut_off_is_an_error(log: LedgerLog) -> None:
    path = entry_path(log, 3)
    content, entry = path.read_bytes(), log.read()
    for length in range(len(content) - 41):  # without its seal, an entry is one of version 0.2
        path.write_bytes(content[:length])
        with pytest.raises(DamagedFileError, match=r"the file is (empty|damaged)"):
            log.read()
    path.write_bytes(content[:-39])
    assert log.read() == entry


@pytest.mark.parametrize("sealed", [True, False])
def test_entry_that_was_replaced_by_an_older_one_is_an_error(log: LedgerLog, sealed: bool) -> None:
    content = entry_path(log, 2).read_bytes()
    entry_path(log, 3).write_bytes(content if sealed else content[: content.index(b"\n#seal")])
    with pytest.raises(
        DamagedFileError, match=r"checksum does not match|is entry 2 in the ledger of `p.out`"
    ):
        log.read()


def test_entry_of_another_ledger_is_an_error(log: LedgerLog, tmp_path: Path) -> None:
    other = LedgerLog(LocalStore(), str(tmp_path / "p.other" / "log"))
    shutil.copytree(log.directory, other.directory)
    what = "the file is entry 3 in the ledger of `p.out`, copied over this one"
    with pytest.raises(DamagedFileError, match=what):
        other.read()


def test_missing_entry_is_an_error_unless_it_is_the_newest(log: LedgerLog) -> None:
    entry_path(log, 3).unlink()
    assert log.read().epochs == {"c": 0}
    LedgerLog(log.store, log.directory).commit(LedgerEntry(3, 1, {"c": 1}))
    entry_path(log, 2).unlink()
    with pytest.raises(
        DamagedFileError, match="the file is missing: it is an entry in the ledger of a sink"
    ) as caught:
        log.read()
    assert caught.value.where == str(entry_path(log, 2))


def test_entry_without_epochs_is_an_error(log: LedgerLog) -> None:
    entry_path(log, 3).write_text("{}")
    with pytest.raises(DamagedFileError, match="the file is damaged: it is no entry of a ledger"):
        log.read()


def test_writer_reports_the_epoch_of_its_ledger_while_it_is_open() -> None:
    class Writer(LedgerWriter):
        def open(self) -> None:
            self._ledger = ledger(Storage())
            self._ledger.take_over()

    writer = Writer()
    assert writer.ledger_epoch is None
    writer.open()
    assert writer.ledger_epoch == -1
    assert writer._ledger is not None
    writer._ledger.commit(4)
    assert writer.ledger_epoch == 4


def test_every_writer_with_a_ledger_reports_its_epoch() -> None:
    package = Path(ledger_module.__file__).parent
    users = [file for file in package.rglob("*.py") if re.search(r"= Ledger\(", file.read_text())]
    assert len(users) >= 5
    assert [file.name for file in users if "LedgerWriter)" not in file.read_text()] == []


@pytest.mark.parametrize("content", [b"", b'{"number": 3, "tok', b"[]", b"{}"])
def test_damaged_entry_of_a_files_ledger_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "0000000003").write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"0000000003: the file is (damaged|empty)"):
        LedgerLog(LocalStore(), str(tmp_path)).read()


def test_flipped_bit_in_an_entry_of_a_files_ledger_is_an_error(tmp_path: Path) -> None:
    log = LedgerLog(LocalStore(), str(tmp_path))
    assert log.commit(LedgerEntry(1, 1, {"a": 4}))
    assert log.read().epochs == {"a": 4}
    file = tmp_path / "0000000001"
    file.write_bytes(file.read_bytes().replace(b"4}", b"5}"))
    with pytest.raises(DamagedFileError, match="checksum does not match\n  hint: restore a savepoint"):
        log.read()


def test_entries_that_are_needed_are_kept(tmp_path: Path) -> None:
    needed = {"5"}
    log = LedgerLog(LocalStore(), str(tmp_path), lambda entry: str(entry.number) in needed)
    for number in range(1, 210):
        log.commit(LedgerEntry(number, 1))
    assert min(int(file.name) for file in tmp_path.iterdir()) == 5
    needed.clear()
    log.commit(LedgerEntry(210, 1))
    assert len(list(tmp_path.iterdir())) < 130
