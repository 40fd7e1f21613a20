"""Logs beside a checkpoint: lines that a crash left incomplete, and rotation."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.checkpoints import journal
from headrace.checkpoints.journal import append_line, read_lines
from headrace.errors import DamagedFileError
from headrace.rules.log import RuleLog, RuleSet


def test_line_after_an_incomplete_one_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_line(log, {"epoch": 1})
    log.write_text(log.read_text() + '{"epoch": 2, "su')  # the run was killed while writing it
    append_line(log, {"epoch": 2})
    append_line(log, {"epoch": 3})
    assert [line["epoch"] for line in read_lines(log)] == [1, 2, 3]


def test_rules_after_an_incomplete_line_are_restored(tmp_path: Path) -> None:
    RuleLog(tmp_path).add(RuleSet(1))
    file = tmp_path / "rules.jsonl"
    file.write_text(file.read_text() + '{"epoch": 2, "dig')
    RuleLog(tmp_path).add(RuleSet(2))
    last = RuleLog(tmp_path).last
    assert last is not None
    assert last.epoch == 2


def test_large_log_is_rotated_and_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_BYTES", 10)
    log = tmp_path / "log.jsonl"
    for epoch in range(3):
        append_line(log, {"epoch": epoch})
    assert [line["epoch"] for line in read_lines(log)] == [1, 2]
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["log.1.jsonl", "log.jsonl"]


@pytest.mark.parametrize("number", range(3))
def test_damaged_or_missing_line_is_an_error(tmp_path: Path, number: int) -> None:
    log = tmp_path / "log.jsonl"
    for epoch in range(4):
        append_line(log, {"epoch": epoch})
    lines = log.read_bytes().splitlines(keepends=True)
    for damaged in (b"", lines[number].replace(b"epoch", b"epocH"), lines[number + 1]):
        log.write_bytes(b"".join([*lines[:number], damaged, *lines[number + 1 :]]))
        with pytest.raises(
            DamagedFileError, match=rf"line {number + 1} is damaged, or one before it is missing"
        ):
            list(read_lines(log))


def test_log_that_was_copied_over_another_one_is_an_error(tmp_path: Path) -> None:
    append_line(tmp_path / "log.jsonl", {"epoch": 1})
    (tmp_path / "other.jsonl").write_bytes((tmp_path / "log.jsonl").read_bytes())
    with pytest.raises(DamagedFileError, match=r"other\.jsonl: line 1 is damaged"):
        list(read_lines(tmp_path / "other.jsonl"))


def test_rules_that_are_cut_from_the_log_are_missed(tmp_path: Path) -> None:
    for epoch in range(3):
        RuleLog(tmp_path).add(RuleSet(epoch))
    file = tmp_path / "rules.jsonl"
    content = file.read_bytes()
    file.write_bytes(content[:-3])
    with pytest.raises(DamagedFileError, match="the newest rules are missing from the log") as caught:
        RuleLog(tmp_path)
    assert caught.value.where == str(file)
    file.unlink()
    with pytest.raises(DamagedFileError, match="the newest rules are missing"):
        RuleLog(tmp_path)
