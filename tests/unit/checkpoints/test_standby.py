"""The lock of a checkpoint directory and the place of its standby."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.checkpoints import lock as locks
from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.lock import DirectoryLock, Holder, machine_id
from headrace.checkpoints.standby import StandbyPlace
from headrace.errors import OptionError


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_standby_without_a_run_takes_the_directory(tmp_path: Path) -> None:
    place = StandbyPlace("fraud", tmp_path)
    assert place.is_free
    directory = place.take_over()
    with pytest.raises(OptionError, match="another run of the pipeline is using it"):
        PipelineDirectory.acquire("fraud", tmp_path)
    directory.release()


def test_standby_waits_until_the_run_is_gone(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    place = StandbyPlace("fraud", tmp_path)
    assert not place.is_free
    assert not place.try_acquire()
    run.release()
    assert place.try_acquire()
    assert place.holder.ending is None
    place.take_over().release()


@pytest.mark.parametrize("ending", ["stopped", "caught_up", "drained", "fenced"])
def test_standby_reads_how_the_run_ended(tmp_path: Path, ending: locks.Ending) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    place = StandbyPlace("fraud", tmp_path)
    run.record_ending(ending)
    run.release()
    assert place.try_acquire()
    assert place.holder.ending == ending
    place.leave()


def test_next_run_removes_the_ending_of_the_last_one(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    run.record_ending("stopped")
    run.release()
    PipelineDirectory.acquire("fraud", tmp_path).release()
    place = StandbyPlace("fraud", tmp_path)
    assert place.holder.ending is None
    place.leave()


def test_standby_that_waits_does_not_record_an_ending(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    place = StandbyPlace("fraud", tmp_path)
    place.directory.record_ending("stopped")
    run.release()
    assert place.try_acquire()
    assert place.holder.ending is None
    place.leave()


def test_second_standby_is_rejected(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    place = StandbyPlace("fraud", tmp_path)
    with pytest.raises(OptionError, match=r"another standby is waiting for the run \(process \d+\)"):
        StandbyPlace("fraud", tmp_path)
    place.leave()
    StandbyPlace("fraud", tmp_path).leave()
    run.release()


def test_place_is_free_for_another_standby_after_a_take_over(tmp_path: Path) -> None:
    directory = StandbyPlace("fraud", tmp_path).take_over()
    other = StandbyPlace("fraud", tmp_path)
    assert not other.is_free
    other.leave()
    directory.release()


def test_standby_of_a_run_on_another_machine_is_rejected(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    (tmp_path / "lock").write_text(json.dumps({"pid": 7, "machine": "elsewhere", "ending": None}))
    with pytest.raises(OptionError, match=r"the run is on another machine \(process 7\)"):
        StandbyPlace("fraud", tmp_path)
    run.release()


def test_standby_of_a_directory_that_was_moved_aside_is_rejected(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    run = PipelineDirectory.acquire("fraud", checkpoint)
    place = StandbyPlace("fraud", checkpoint)
    run.release()
    fresh = PipelineDirectory.acquire("fraud", checkpoint, fresh=True)
    with pytest.raises(OptionError, match="the directory was replaced while the standby was waiting"):
        place.try_acquire()
    fresh.release()


def test_drained_directory_is_not_taken_over(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    run.mark_drained()  # then it is killed
    place = StandbyPlace("fraud", tmp_path)
    run.release()
    assert place.try_acquire()
    with pytest.raises(OptionError, match="the pipeline was drained here"):
        place.take_over()
    StandbyPlace("fraud", tmp_path).leave()


def test_process_that_inherits_the_lock_holds_it_until_it_ends(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(run.lock_descriptor,)
    )
    (tmp_path / "lock").write_text(json.dumps({"pid": ended_process(), "machine": machine_id()}))
    run._lock._file.close()  # as if the process of the run were killed
    place = StandbyPlace("fraud", tmp_path)
    assert not place.is_free
    child.communicate(b"\n")
    assert place.try_acquire()
    place.leave()


def test_release_is_also_that_of_a_process_that_inherited_the_lock(tmp_path: Path) -> None:
    run = PipelineDirectory.acquire("fraud", tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(run.lock_descriptor,)
    )
    run.release()
    PipelineDirectory.acquire("fraud", tmp_path).release()
    child.communicate(b"\n")


def test_new_run_waits_for_the_jvm_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = DirectoryLock(tmp_path / "lock")
    assert orphan.try_acquire()
    (tmp_path / "lock").write_text(json.dumps({"pid": ended_process(), "machine": machine_id()}))
    waits: list[float] = []

    def end_jvm(seconds: float) -> None:
        waits.append(seconds)
        orphan.release()

    monkeypatch.setattr(time, "sleep", end_jvm)
    PipelineDirectory.acquire("fraud", tmp_path).release()
    assert len(waits) == 1


def test_jvm_that_does_not_end_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = DirectoryLock(tmp_path / "lock")
    assert orphan.try_acquire()
    pid = ended_process()
    (tmp_path / "lock").write_text(json.dumps({"pid": pid, "machine": machine_id()}))
    monkeypatch.setattr(locks, "ORPHAN_SECONDS", 0)
    with pytest.raises(OptionError, match=rf"another run of the pipeline is using it \(process {pid}\)"):
        PipelineDirectory.acquire("fraud", tmp_path)
    orphan.release()


def test_zombie_is_a_process_that_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()  # ends with the process, which is not reaped yet
    holder = Holder(process.pid, machine_id())
    deadline = time.monotonic() + 30
    while not holder.is_dead and time.monotonic() < deadline:
        pass
    assert holder.is_dead
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize(
    ("content", "holder"), [("", Holder()), ("123", Holder(123)), ('{"pid": 1', Holder())]
)
def test_incomplete_records_of_the_holder_are_read(tmp_path: Path, content: str, holder: Holder) -> None:
    (tmp_path / "lock").write_text(content)
    lock = DirectoryLock(tmp_path / "lock")
    assert lock.read() == holder
    lock.release()
