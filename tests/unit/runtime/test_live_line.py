"""The live line stays at the bottom of the terminal while other text is printed."""

from __future__ import annotations

import sys

import pytest
from rich.console import Console
from rich.text import Text

from headrace.cli.terminal.output import err
from headrace.runtime.live_line import LiveLine

CLEAR = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")


def test_each_drawing_replaces_the_last_and_the_end_leaves_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("one"))
        line.draw(Text("two"))
    assert capsys.readouterr().err == f"{CLEAR}one{CLEAR}two{CLEAR}"


def test_a_line_wider_than_the_terminal_is_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("x" * 40))
    assert f"{CLEAR}{'x' * 18}…{CLEAR}" in capsys.readouterr().err


def test_what_a_rich_console_of_another_s_prints_goes_above_it(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("status"))
        Console().print("a row")
        sys.stderr.write("a warning\n")
    said = capsys.readouterr()
    assert said.out == "a row\n"
    assert said.err == f"{CLEAR}status{CLEAR}status{CLEAR}a warning\nstatus{CLEAR}"


def test_in_the_middle_of_a_printed_line_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        sys.stderr.write("half ")
        line.draw(Text("status"))
        sys.stderr.write("whole\n")
    assert capsys.readouterr().err == f"{CLEAR}half whole\nstatus{CLEAR}"


def test_standard_output_that_is_a_file_is_left_alone() -> None:
    before = sys.stdout
    with LiveLine(err(), catch_output=False):
        assert sys.stdout is before
    assert sys.stdout is before
