"""The balance of rows: sums over epochs, over runs, and over an epoch that is run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.runtime import row_accounting as balance
from headrace.runtime.row_accounting import Balance, BalanceLog, lines_of

FIRST = {"rows": 5, "folded": 4, "late": 1, "placed": 4, "settled": 0, "windows": 2, "panes": 1}
SECOND = {"rows": 3, "folded": 3, "placed": 3, "settled": 6, "lost": 1, "windows": 1, "expired": 3}


def test_a_run_counts_its_own_rows_and_what_it_found_open(tmp_path: Path) -> None:
    BalanceLog(tmp_path, "totals").note(0, FIRST)
    log = BalanceLog(tmp_path, "totals")
    assert str(log.balance()) == "0 rows + 4 from before = 4 open"
    log.note(1, SECOND)
    found = log.balance()
    assert str(found) == "3 rows + 4 from before = 6 closed + 1 lost"
    assert (found.balanced, found.late, found.open, found.windows) == (True, 0, 0, 0)


def test_an_epoch_that_is_run_again_counts_once(tmp_path: Path) -> None:
    log = BalanceLog(tmp_path, "totals")
    log.note(0, FIRST)
    log.note(1, SECOND)
    again = BalanceLog(tmp_path, "totals")
    again.note(1, SECOND)
    lines = list(lines_of(tmp_path / balance.NAME))
    assert [line["epoch"] for line in lines] == [0, 1, 1]
    assert lines[1]["sum"] == lines[2]["sum"]
    assert lines[2]["sum"]["rows"] == 8


def test_half_a_line_is_none(tmp_path: Path) -> None:
    BalanceLog(tmp_path, "totals").note(0, FIRST)
    with (tmp_path / balance.NAME).open("a") as file:
        file.write(json.dumps({"epoch": 1, "sum": {"rows": 99}})[:-5])
    log = BalanceLog(tmp_path, "totals")
    assert log.balance().open == 4


def test_a_full_log_is_put_aside_and_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balance, "FULL", 10)
    log = BalanceLog(tmp_path, "totals")
    for epoch in range(5):
        log.note(epoch, FIRST)
    assert [line["epoch"] for line in lines_of(tmp_path / balance.NAME)] == [3, 4]
    assert BalanceLog(tmp_path, "totals").balance().open == 20


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "0 rows = 0"),
        ({"rows": 9, "folded": 5, "placed": 5, "pending": 4}, "9 rows = 5 open + 4 waiting"),
        ({"rows": 9, "folded": 6, "late": 1, "repeated": 2}, "9 rows = 6 taken + 1 late + 2 repeated"),
        (
            {"rows": 9, "folded": 8, "late": 1, "placed": 48, "settled": 40},
            "9 rows = 8 taken + 1 late, in windows 48 places = 40 closed + 8 open",
        ),
    ],
)
def test_a_balance_in_one_line(counts: dict[str, int], said: str) -> None:
    assert str(Balance.of({}, counts)) == said
    assert Balance.of({}, counts).balanced


@pytest.mark.parametrize("counts", [{"rows": 2, "folded": 1}, {"settled": 1}])
def test_rows_that_are_nowhere_or_twice_are_seen(counts: dict[str, int]) -> None:
    assert not Balance.of({}, counts).balanced
