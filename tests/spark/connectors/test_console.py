"""The console sink: a table on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
import rich.console
from pyspark.sql import SparkSession
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors.base import WriteContext
from headrace.connectors.console.screen import Screen

MakeRun = Callable[..., WriteContext]


def screen(sink: str = "alerts") -> tuple[Screen, io.StringIO]:
    paper = io.StringIO()
    return Screen(sink, rich.console.Console(file=paper, width=80, color_system=None)), paper


def test_rows_are_json_lines_where_there_is_no_terminal(
    spark: SparkSession, run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = spark.sql("select 'a' k, cast(null as int) v, timestamp '2026-01-01 00:00:00.5' ts, array(1) l")
    deliver(connect.console(limit=1), run(), 0, frame.union(frame))
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"k": "a", "v": None, "ts": "2026-01-01T00:00:00.500000Z", "l": [1]}
    ] * 2


def test_repeated_epoch_is_printed_again(
    spark: SparkSession, run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        deliver(connect.console(), run(), 0, rows(spark, ("a", 1)))
    assert capsys.readouterr().out == '{"k":"a","v":1}\n' * 2


def test_table_shows_the_first_rows_and_counts_the_rest(
    spark: SparkSession, run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = connect.console(style="table", limit=3).writer()
    writer.open(run())
    staged = writer.stage(0, rows(spark, *[("a", v) for v in range(10)]))
    assert staged.rows == 10
    writer.commit(0, staged)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("out ")
    assert shown[1].split() == ["k", "v"]
    assert [line.split()[0] for line in shown[2:5]] == ["a", "a", "a"]
    assert shown[5] == "  ... and 7 more"


def test_head_is_shown_once_and_columns_stay_in_line() -> None:
    table, paper = screen()
    table.show(["card", "amount"], [["4000 1234", 12.5]], total=1, replace=False)
    table.show(["card", "amount"], [["7", None]], total=1, replace=False)
    lines = paper.getvalue().splitlines()
    assert [line.split() for line in lines[1:]] == [["card", "amount"], ["4000", "1234", "12.5"], ["7", "-"]]
    assert lines[1].index("amount") == lines[2].index("12.5") == lines[3].index("-")


def test_head_is_shown_again_for_other_sinks_other_columns_and_new_content() -> None:
    table, paper = screen("one")
    other, other_paper = screen("two")
    table.show(["a"], [["1"]], total=1, replace=False)
    other.show(["a"], [["1"]], total=1, replace=False)
    table.show(["a"], [["1"]], total=1, replace=False)
    table.show(["a", "b"], [["1", True]], total=1, replace=False)
    table.show(["a", "b"], [["2026-01-01T00:00:00.000000Z", False]], total=1, replace=True)
    assert [line.split()[0] for line in paper.getvalue().splitlines()].count("one") == 4
    assert other_paper.getvalue().count("two") == 1
    assert "2026-01-01T00:00:00  false" in paper.getvalue()


def test_head_is_shown_again_when_it_has_scrolled_away() -> None:
    table, paper = screen()
    for _ in range(3):
        table.show(["n"], [[n] for n in range(40)], total=40, replace=False)
    assert paper.getvalue().count("alerts") == 3
