"""Damaged files of a write-ahead log: every acknowledged row, or an error that names the file; never fewer rows."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connectors.durable_files import HINT
from headrace.connectors.failpoints import Crash, arm
from headrace.connectors.write_ahead_log import Message, acknowledged
from headrace.connectors.write_ahead_log.acknowledged import AcknowledgedFile, read_acknowledged
from headrace.connectors.write_ahead_log.enumerator import LogEnumerator
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.connectors.write_ahead_log.records import decode, encode
from headrace.connectors.write_ahead_log.recovery import verify
from headrace.errors import DamagedFileError

SMALL = LogSettings(limit=64_000)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No syncs: the tests reopen logs thousands of times."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(os, "fdatasync", lambda file: None)


def fill(directory: Path, count: int, *, first: int = 0, size: int = 5) -> list[str]:
    """Store and acknowledge messages, each in its own group; return their values."""
    log = WriteAheadLog(directory, SMALL)
    values = [f"row-{number:02d}".ljust(size, ".") for number in range(first, first + count)]
    for value in values:
        log.append([Message(value.encode(), id=value[:6])], timeout=0)
    log.close()
    return values


def reopen(directory: Path) -> list[str]:
    """Return the rows of a log that is opened again."""
    log = WriteAheadLog(directory, SMALL)
    try:
        slices = log.read(log.first, log.end)
        return [record.value.decode() for _, records in slices for record in decode(records)]
    finally:
        log.close()


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def restore(directory: Path, files: dict[str, bytes]) -> None:
    for path in directory.iterdir():
        path.unlink()
    for name, content in files.items():
        (directory / name).write_bytes(content)


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.wal"))


def restart_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledged, "boot_id", lambda: b"another boot    ")


def forget(directory: Path, durable: int) -> None:
    """Write the acknowledged position as it was earlier: its newest state had not reached the disk."""
    log_id = read_acknowledged(directory).log_id
    AcknowledgedFile(directory, log_id, durable).close()


def outcome(directory: Path, rows: list[str], damaged: Path) -> str:
    """Reopen a damaged log: it has all rows, or raises an error that names the file and changes nothing."""
    before, findings = contents(directory), verify(directory)
    assert contents(directory) == before
    if not findings:
        assert reopen(directory) == rows
        return "rows"
    with pytest.raises(DamagedFileError) as caught:
        reopen(directory)
    assert caught.value.problem == findings[0]
    assert (findings[0].where, findings[0].hint) == (str(damaged), HINT)
    assert contents(directory) == before
    return "error"


@pytest.fixture(params=["killed", "power failure", "power failure, stale position"])
def crashed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A log with six acknowledged rows and ids, after a crash."""
    rows = fill(tmp_path, 6)
    if "stale" in request.param:
        forget(tmp_path, 2)
    if "power" in request.param:
        restart_machine(monkeypatch)
    return rows


@pytest.mark.parametrize("name", ["00000000000000000000.wal", "counters.json", "acknowledged"])
def test_flipped_bit_never_loses_a_row(crashed: list[str], tmp_path: Path, name: str) -> None:
    files, outcomes = contents(tmp_path), set[str]()
    for byte in range(0, len(files[name]), 1 if len(files[name]) < 1000 else 9):
        content = bytearray(files[name])
        content[byte] ^= 1 << byte % 8
        restore(tmp_path, files | {name: bytes(content)})
        outcomes.add(outcome(tmp_path, crashed, tmp_path / name))
    assert "error" in outcomes or name == "acknowledged"


def test_every_bit_of_a_segment_is_verified(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        assert [problem.where for problem in verify(tmp_path)] == [str(path)]


@pytest.mark.parametrize("name", ["00000000000000000000.wal", "counters.json", "acknowledged"])
def test_cut_off_file_never_loses_a_row(tmp_path: Path, name: str) -> None:
    rows = fill(tmp_path, 4)
    files = contents(tmp_path)
    for length in range(0, len(files[name]), 1 if len(files[name]) < 1000 else 9):
        restore(tmp_path, files | {name: files[name][:length]})
        outcome(tmp_path, rows, tmp_path / name)


def test_damage_names_the_byte_and_what_is_lost(tmp_path: Path) -> None:
    fill(tmp_path, 5)
    (path,) = segments(tmp_path)
    content = bytearray(path.read_bytes())
    content[content.index(b"row-01")] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError) as caught:
        reopen(tmp_path)
    begins = (len(content) - 28) // 5 + 28
    assert caught.value.what == (
        f"damaged at byte {begins}: the messages 1 to 1 of the write-ahead log cannot be read; "
        "3 messages after them in this file are intact"
    )


@pytest.mark.parametrize("boot", ["same", "other"])
def test_write_that_was_never_acknowledged_is_removed_wherever_it_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, boot: str
) -> None:
    rows = fill(tmp_path, 3)
    (path,) = segments(tmp_path)
    length, state = path.stat().st_size, (tmp_path / "acknowledged").read_bytes()
    rows += fill(tmp_path, 1, first=3)
    files = contents(tmp_path) | {"acknowledged": state}
    if boot == "other":
        restart_machine(monkeypatch)
    for end in range(length, len(files[path.name]) + 1):
        restore(tmp_path, files | {path.name: files[path.name][:end]})
        complete = end == len(files[path.name])
        assert verify(tmp_path) == []
        assert reopen(tmp_path) == (rows if complete else rows[:3])


def test_write_with_holes_after_a_power_failure_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = fill(tmp_path, 3)
    (path,) = segments(tmp_path)
    length = path.stat().st_size
    log = WriteAheadLog(tmp_path, LogSettings(fsync="never"))
    for number in range(3):  # three groups without a sync between them
        log.append([Message(b"%d" % number * 700)])
    files = contents(tmp_path)
    log.close()
    restart_machine(monkeypatch)
    content = files[path.name]
    for sector in range(length // 512 + 1, len(content) // 512):
        holed = content[: sector * 512] + bytes(512) + content[sector * 512 + 512 :]
        restore(tmp_path, files | {path.name: holed})
        assert verify(tmp_path) == []
        assert reopen(tmp_path)[:3] == rows


def test_hole_in_rows_that_a_later_group_proves_durable_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(tmp_path, 3, size=1500)
    forget(tmp_path, 0)
    restart_machine(monkeypatch)
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:512] + bytes(512) + content[1024:])
    with pytest.raises(DamagedFileError, match=r"the messages 0 to 0 .* 2 messages after them"):
        reopen(tmp_path)


@pytest.fixture
def long(tmp_path: Path) -> list[str]:
    """A log with several segments."""
    rows = fill(tmp_path, 45, size=1000)
    assert len(segments(tmp_path)) > 4
    return rows


def delete(path: Path, directory: Path) -> None:
    path.unlink()


def empty(path: Path, directory: Path) -> None:
    path.write_bytes(b"")


def shorten(path: Path, directory: Path) -> None:
    """An older version: the segment when it had two rows less."""
    content = path.read_bytes()
    groups = content.split(b"\xffHRG")
    path.write_bytes(b"\xffHRG".join(groups[:-2]))


def replace_by_another_segment(path: Path, directory: Path) -> None:
    other = next(each for each in segments(directory) if each != path)
    shutil.copy(other, path)


def replace_by_another_log(path: Path, directory: Path) -> None:
    with TemporaryDirectory() as place:
        fill(Path(place), 45, size=1000)
        shutil.copy(Path(place) / path.name, path)


@pytest.mark.parametrize("number", [0, 2, -1])
@pytest.mark.parametrize(
    "damage", [delete, empty, shorten, replace_by_another_segment, replace_by_another_log]
)
def test_damaged_segment_is_an_error(
    long: list[str], tmp_path: Path, number: int, damage: Callable[[Path, Path], None]
) -> None:
    damage(segments(tmp_path)[number], tmp_path)
    before = contents(tmp_path)
    with pytest.raises(DamagedFileError, match=r"(missing|empty|another|damaged)") as caught:
        reopen(tmp_path)
    assert str(tmp_path) in caught.value.where
    assert caught.value.hint == HINT
    assert verify(tmp_path)[0] == caught.value.problem
    assert contents(tmp_path) == before


def test_two_damaged_segments_are_both_reported(long: list[str], tmp_path: Path) -> None:
    for number in (1, 3):
        empty(segments(tmp_path)[number], tmp_path)
    assert [Path(problem.where) for problem in verify(tmp_path)] == [segments(tmp_path)[n] for n in (1, 3)]


def test_all_segments_deleted_is_an_error(long: list[str], tmp_path: Path) -> None:
    for path in segments(tmp_path):
        path.unlink()
    with pytest.raises(DamagedFileError, match=r"the file is missing, and with it the messages 0 to 44"):
        reopen(tmp_path)


def test_segments_with_the_same_rows_are_an_error(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    older = contents(tmp_path)
    log = WriteAheadLog(tmp_path, SMALL)
    log._store.rotate()
    log.close()
    fill(tmp_path, 2, first=2)
    (tmp_path / f"{1:020d}.wal").write_bytes(older["00000000000000000000.wal"])
    assert verify(tmp_path)[0].what == ("the file and the next one both have the messages 1 to 1")


@pytest.fixture
def released(tmp_path: Path) -> dict[str, bytes]:
    """A log whose first segments are delivered and removed; returns its files before the removal."""
    fill(tmp_path, 45, size=1000)
    before = contents(tmp_path)
    log = WriteAheadLog(tmp_path, SMALL)
    log.release(log.plan(0, 20))
    log.close()
    assert log.first > 0
    return before


def test_missing_first_segment_is_noticed_after_removals(released: dict[str, bytes], tmp_path: Path) -> None:
    segments(tmp_path)[0].unlink()
    with pytest.raises(DamagedFileError, match=r"the file is missing, and with it the messages \d+ to \d+"):
        reopen(tmp_path)


def test_removed_segment_that_was_restored_is_removed_again(
    released: dict[str, bytes], tmp_path: Path
) -> None:
    rows = reopen(tmp_path)
    (tmp_path / "00000000000000000000.wal").write_bytes(released["00000000000000000000.wal"])
    assert verify(tmp_path) == []
    assert reopen(tmp_path) == rows
    assert not (tmp_path / "00000000000000000000.wal").exists()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("counters.json", "the file is missing: it states which messages were removed"),
        ("acknowledged", "the file is missing: it states how many messages were acknowledged"),
        ("ids.json", "the file is missing: messages that are delivered again would not be recognised"),
    ],
)
def test_deleted_file_is_an_error(released: dict[str, bytes], tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / name).unlink()
    with pytest.raises(DamagedFileError, match=what) as caught:
        reopen(tmp_path)
    assert caught.value.where == str(tmp_path / name)
    assert verify(tmp_path)[0] == caught.value.problem


def test_older_counters_are_an_error(released: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "counters.json").write_bytes(released["counters.json"])
    with pytest.raises(DamagedFileError, match="the file is missing, and with it the messages 0 to"):
        reopen(tmp_path)


def test_older_ids_are_an_error(released: dict[str, bytes], tmp_path: Path) -> None:
    older = (tmp_path / "ids.json").read_bytes()
    log = WriteAheadLog(tmp_path, SMALL)
    log.append([Message(b"later", id="later")])
    log.release(log.plan(20, 20))
    log.close()
    (tmp_path / "ids.json").write_bytes(older)
    with pytest.raises(DamagedFileError, match="the file is of another log, or an older version"):
        reopen(tmp_path)


def test_older_acknowledged_position_loses_no_row(released: dict[str, bytes], tmp_path: Path) -> None:
    rows = reopen(tmp_path)
    (tmp_path / "acknowledged").write_bytes(released["acknowledged"])
    assert reopen(tmp_path) == rows


def test_counters_of_another_log_are_an_error(tmp_path: Path) -> None:
    fill(tmp_path / "log", 1)
    fill(tmp_path / "other" / "log", 1)
    shutil.copy(tmp_path / "other/log/counters.json", tmp_path / "log/counters.json")
    with pytest.raises(DamagedFileError, match="the file belongs to another write-ahead log"):
        reopen(tmp_path / "log")


def test_damaged_slot_is_accepted_only_after_a_power_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = fill(tmp_path, 3)
    path = tmp_path / "acknowledged"
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="it does not state how many messages were acknowledged"):
        reopen(tmp_path)
    restart_machine(monkeypatch)
    assert reopen(tmp_path) == rows


def test_damage_after_the_log_was_opened_is_found_by_the_read(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, SMALL)
    log.append([Message(b"a"), Message(b"b")])
    log.append([Message(b"the third message")])
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"third", b"THIRD"))
    assert len(list(log.read(0, 2))) == 1
    with pytest.raises(DamagedFileError, match=r"damaged at byte \d+: the messages from 2 on cannot be read"):
        list(log.read(0, 3))
    path.unlink()
    with pytest.raises(DamagedFileError, match="the file is missing, and with it the messages 0 to 3 of"):
        list(log.read(0, 3))
    log.close()


def test_killed_between_the_record_of_a_removal_and_the_removal(long: list[str], tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, SMALL)
    with arm("log.removing"), pytest.raises(Crash):
        log.release(20)
    first = log._counters.first
    assert verify(tmp_path) == []
    assert reopen(tmp_path) == long[first:]
    assert segments(tmp_path)[0].stem == f"{first:020d}"
    log.close()


def test_dropped_rows_are_not_missing_rows(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, LogSettings(limit=64_000, overflow="drop_oldest"))
    for number in range(20):
        log.append([Message(f"{number:04d}".encode().ljust(1000))])
    log.plan(0, 10)
    for number in range(20, 150):
        log.append([Message(f"{number:04d}".encode().ljust(1000))])
    log.close()
    assert log.counters.gaps
    assert verify(tmp_path) == []
    rows = reopen(tmp_path)
    assert [row.strip() for row in rows[:10]] == [f"{number:04d}" for number in range(10)]
    segments(tmp_path)[-2].unlink()
    with pytest.raises(DamagedFileError, match="are missing"):
        reopen(tmp_path)


def test_stored_rows_are_not_dropped_before_the_query_has_planned(tmp_path: Path) -> None:
    rows = fill(tmp_path, 50, size=1000)
    log = WriteAheadLog(tmp_path, LogSettings(limit=64_000, overflow="drop_oldest"))
    for _ in range(30):
        log.submit([Message(b"." * 1000)], lambda: None)
    assert reopen_rows(log)[:50] == rows
    log.plan(0, 1)
    for _ in range(30):
        log.submit([Message(b"." * 1000)], lambda: None)
    assert reopen_rows(log)[:50] != rows
    log.close()


def reopen_rows(log: WriteAheadLog) -> list[str]:
    return [record.value.decode() for _, part in log.read(log.first, log.end) for record in decode(part)]


def test_id_of_a_message_that_is_not_durable_is_not_stored(tmp_path: Path) -> None:
    fill(tmp_path, 45, size=1000)
    log = WriteAheadLog(tmp_path, SMALL)
    with log._changed:  # the writer waits for the lock, so the message stays in the queue
        log.submit([Message(b"new", id="new")], lambda: None)
        log.release(20)
        files = contents(tmp_path)
    log.close()
    restore(tmp_path, files)  # killed before the message was written
    log = WriteAheadLog(tmp_path, SMALL)
    log.append([Message(b"new", id="new")])
    assert reopen_rows(log)[-1] == "new"
    log.close()


class _Idle:
    def start(self, log: WriteAheadLog) -> None: ...
    def settle(self) -> None: ...
    def stop(self) -> None: ...


def test_checkpoint_that_does_not_fit_the_log_is_an_error(released: dict[str, bytes], tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, SMALL)
    enumerator = LogEnumerator(log, _Idle(), "tx", 100)
    with pytest.raises(Exception, match=r"the checkpoint is at message 0, but .* has removed the messages"):
        enumerator.latest({"position": 0})
    with pytest.raises(
        Exception, match="the checkpoint is at message 99, but the write-ahead log ends at 45"
    ):
        enumerator.splits({"position": 40}, {"position": 99})
    path = segments(tmp_path)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Exception, match=rf'"tx: {path}", "damaged at byte'):
        enumerator.splits({"position": 40}, {"position": 45})
    enumerator.close()


def write_old_log(directory: Path, *groups: list[str], gap: int = 0) -> list[str]:
    """Write a log as version 0.2 did; return its rows."""
    position, rows = 0, list[str]()
    for group in groups:
        content = b"".join(encode(Message(value.encode(), id=value)) for value in group)
        (directory / f"{position:020d}.log").write_bytes(content)
        position, rows = position + len(group) + gap, rows + group
    counters = {"received": 5, "stored": 5, "dropped_oldest": gap}
    (directory / "counters.json").write_text(json.dumps(counters))
    (directory / "ids.json").write_text('["before"]')
    return rows


def test_log_of_version_0_2_is_read(tmp_path: Path) -> None:
    rows = write_old_log(tmp_path, ["a", "b"], ["c"])
    assert verify(tmp_path) == []
    log = WriteAheadLog(tmp_path, SMALL)
    log.append([Message(b"before", id="before"), Message(b"b", id="b"), Message(b"d", id="d")])
    assert reopen_rows(log) == [*rows, "d"]
    assert log.counters.received == 8
    log.close()
    assert not list(tmp_path.glob("*.log"))
    assert reopen(tmp_path) == [*rows, "d"]


def test_gap_in_a_log_of_version_0_2_is_accepted_only_if_rows_were_dropped(tmp_path: Path) -> None:
    rows = write_old_log(tmp_path, ["a"], ["b"], gap=3)
    assert reopen(tmp_path) == rows
    restore(tmp_path, {})
    write_old_log(tmp_path, ["a"], ["b"], ["c"])
    (tmp_path / f"{1:020d}.log").unlink()
    with pytest.raises(DamagedFileError, match="the messages 1 to 1 of the write-ahead log, before it, are"):
        reopen(tmp_path)


def test_interrupted_write_of_version_0_2_is_removed_and_damage_is_an_error(tmp_path: Path) -> None:
    write_old_log(tmp_path, ["a", "b", "c"])
    path = tmp_path / f"{0:020d}.log"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"b{}b", b"b{}B"))
    with pytest.raises(DamagedFileError, match=r"the write-ahead log is damaged at byte \d+"):
        reopen(tmp_path)
    assert verify(tmp_path)[0].where == str(path)
    path.write_bytes(content[:-1])
    assert reopen(tmp_path) == ["a", "b"]


def test_killed_upgrade_starts_again(tmp_path: Path) -> None:
    rows = write_old_log(tmp_path, ["a", "b"], ["c"])
    old = contents(tmp_path)
    reopen(tmp_path)
    new = contents(tmp_path)
    del new["acknowledged"]
    restore(tmp_path, old | new)
    assert reopen(tmp_path) == rows


def test_new_log_that_was_killed_while_it_was_created_is_empty(tmp_path: Path) -> None:
    assert reopen(tmp_path) == []
    (tmp_path / "acknowledged").unlink()
    assert verify(tmp_path) == []
    assert reopen(tmp_path) == []
    assert verify(tmp_path / "none") == []


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40)),
        st.tuples(st.just("release"), st.integers(0, 60)),
        st.tuples(st.sampled_from(["restart", "kill"]), st.just(0)),
    ),
    max_size=12,
)
DAMAGE = st.tuples(
    st.sampled_from(["none", "flip", "cut", "delete", "older", "tail"]),
    st.integers(0, 99),
    st.integers(0, 10**6),
)


@settings(max_examples=50)
@given(ACTIONS, DAMAGE)
def test_log_has_the_rows_of_a_model_or_raises(
    actions: list[tuple[str, int]], damage: tuple[str, int, int]
) -> None:
    """The model: a list of acknowledged rows, and the position before which they are delivered."""
    rows, delivered = list[str](), 0
    with TemporaryDirectory() as place:
        directory = Path(place)
        log, older = WriteAheadLog(directory, SMALL), dict[str, bytes]()
        for action, number in actions:
            if action == "append":
                group = [f"{len(rows) + each:04d}".ljust(400) for each in range(number)]
                if log._store.size + 500 * number < SMALL.limit:
                    log.append([Message(value.encode(), id=value[:4]) for value in group], timeout=0)
                    rows += group
            elif action == "release":
                delivered = max(delivered, log.plan(delivered, number))
                log.release(delivered)
            else:
                older, files = contents(directory), contents(directory)
                log.close()
                if action == "kill":  # without the syncs and records of a stop
                    restore(directory, files)
                log = WriteAheadLog(directory, SMALL)
        log.close()
        kind, which, where = damage
        path = sorted(directory.iterdir())[which % len(list(directory.iterdir()))]
        content = bytearray(path.read_bytes())
        if kind == "flip":
            content[where // 8 % len(content)] ^= 1 << where % 8
        elif kind == "cut":
            del content[where % len(content) :]
        elif kind == "older":
            content = bytearray(older.get(path.name, bytes(content)))
        elif kind == "tail" and path.suffix == ".wal":
            path = segments(directory)[-1]
            content = bytearray(path.read_bytes() + random.Random(where).randbytes(where % 50))
        path.write_bytes(content)
        if kind == "delete":
            path.unlink()
        if findings := verify(directory):
            assert kind not in ("none", "tail")
            with pytest.raises(DamagedFileError, match=re.escape(findings[0].what)):
                WriteAheadLog(directory, SMALL)
            return
        log = WriteAheadLog(directory, SMALL)
        slices = log.read(delivered, log.end)
        assert [record.value.decode() for _, part in slices for record in decode(part)] == rows[delivered:]
        for value in rows:  # redelivered by the sender, and recognised
            log.append([Message(value.encode(), id=value[:4])])
        assert log.end == len(rows)
        log.close()
