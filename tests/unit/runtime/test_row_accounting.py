"""Row accounting: sums over epochs, over runs, and over a replayed epoch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.checkpoints import journal
from headrace.checkpoints.journal import read_lines, seal_line
from headrace.runtime.progress.row_accounting import NAME, AccountingLog, RowAccounting

FIRST = {"rows": 5, "processed": 4, "late": 1, "assigned": 4, "emitted": 0, "open_windows": 2, "panes": 1}
SECOND = {"rows": 3, "processed": 3, "assigned": 3, "emitted": 6, "dropped": 1, "open_windows": -2}


def test_run_counts_its_own_rows_and_those_held_before(tmp_path: Path) -> None:
    AccountingLog(tmp_path, "totals").add(0, FIRST)
    log = AccountingLog(tmp_path, "totals")
    assert str(log.current()) == "0 rows + 4 held before = 4 in open windows"
    log.add(1, SECOND)
    accounting = log.current()
    assert str(accounting) == "3 rows + 4 held before = 6 emitted + 1 dropped"
    assert (accounting.balanced, accounting.late, accounting.in_open_windows, accounting.open_windows) == (
        True,
        0,
        0,
        0,
    )


def test_replayed_epoch_counts_once(tmp_path: Path) -> None:
    log = AccountingLog(tmp_path, "totals")
    log.add(0, FIRST)
    log.add(1, SECOND)
    again = AccountingLog(tmp_path, "totals")
    again.add(1, SECOND)
    lines = list(read_lines(tmp_path / NAME))
    assert [line["epoch"] for line in lines] == [0, 1, 1]
    assert lines[1]["sum"] == lines[2]["sum"]
    assert lines[2]["sum"]["rows"] == 8


def test_incomplete_line_is_skipped(tmp_path: Path) -> None:
    AccountingLog(tmp_path, "totals").add(0, FIRST)
    with (tmp_path / NAME).open("a") as file:
        file.write(json.dumps({"epoch": 1, "sum": {"rows": 99}})[:-5])
    log = AccountingLog(tmp_path, "totals")
    assert log.current().in_open_windows == 4


def test_full_log_is_rotated_and_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_BYTES", 10)
    log = AccountingLog(tmp_path, "totals")
    for epoch in range(5):
        log.add(epoch, FIRST)
    assert [line["epoch"] for line in read_lines(tmp_path / NAME)] == [3, 4]
    assert AccountingLog(tmp_path, "totals").current().in_open_windows == 20


def test_counters_of_version_0_2_continue(tmp_path: Path) -> None:
    stored = {"rows": 9, "folded": 4, "repeated": 1, "pending": 4, "placed": 4, "settled": 1, "lost": 1}
    stored |= {"forgotten": 0, "dropped": 5, "windows": 3, "expired": 2}
    line = json.dumps({"epoch": 0, "sum": stored}).encode()  # as `headrace checkpoint upgrade` seals it
    (tmp_path / NAME).write_bytes(seal_line(line, NAME.encode()))
    log = AccountingLog(tmp_path, "totals")
    log.add(1, {"rows": 1, "processed": 5, "buffered": -4, "assigned": 5, "open_windows": 1})
    accounting = log.current()
    assert accounting == RowAccounting(
        rows=1,
        processed=5,
        assigned=5,
        in_open_windows=7,
        open_windows=2,
        in_open_windows_before=2,
        buffered_before=4,
    )
    [_, last] = read_lines(tmp_path / NAME)
    assert last["sum"] == {
        **{"rows": 10, "processed": 9, "duplicates": 1, "buffered": 0, "assigned": 9, "emitted": 1},
        **{"dropped": 1, "expired": 0, "dropped_matches": 5, "open_windows": 2},
    }


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({}, "0 rows = 0"),
        ({"rows": 1, "late": 1}, "1 row = 1 late"),
        (
            {"rows": 9, "processed": 5, "assigned": 5, "buffered": 4},
            "9 rows = 5 in open windows + 4 buffered",
        ),
        (
            {"rows": 9, "processed": 6, "late": 1, "duplicates": 2},
            "9 rows = 6 processed + 1 late + 2 duplicates",
        ),
        (
            {"rows": 9, "processed": 8, "late": 1, "assigned": 48, "emitted": 40},
            "9 rows = 8 processed + 1 late, in windows 48 assignments = 40 emitted + 8 in open windows",
        ),
    ],
)
def test_accounting_as_one_line(counts: dict[str, int], text: str) -> None:
    assert str(RowAccounting.between({}, counts)) == text
    assert RowAccounting.between({}, counts).balanced


@pytest.mark.parametrize("counts", [{"rows": 2, "processed": 1}, {"emitted": 1}])
def test_missing_or_doubled_rows_are_detected(counts: dict[str, int]) -> None:
    assert not RowAccounting.between({}, counts).balanced
