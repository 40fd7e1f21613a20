"""The live line stays at the bottom of the terminal while other text is printed."""

from __future__ import annotations

import sys

import pytest
from rich.console import Console
from rich.text import Text

from headrace.cli.terminal.output import err
from headrace.runtime.progress.live_line import LiveLine

CLEAR = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")


def test_each_draw_replaces_the_line_and_the_end_clears_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("one"))
        line.draw(Text("two"))
    assert capsys.readouterr().err == f"{CLEAR}one{CLEAR}two{CLEAR}"


def test_line_wider_than_the_terminal_is_truncated(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("x" * 40))
    assert f"{CLEAR}{'x' * 18}…{CLEAR}" in capsys.readouterr().err


def test_output_of_another_rich_console_appears_above_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        line.draw(Text("status"))
        Console().print("a row")
        sys.stderr.write("a warning\n")
    text = capsys.readouterr()
    assert text.out == "a row\n"
    assert text.err == f"{CLEAR}status{CLEAR}status{CLEAR}a warning\nstatus{CLEAR}"


def test_line_waits_while_a_printed_line_is_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine(err(), catch_output=True) as line:
        sys.stderr.write("half ")
        line.draw(Text("status"))
        sys.stderr.write("whole\n")
    assert capsys.readouterr().err == f"{CLEAR}half whole\nstatus{CLEAR}"


def test_standard_output_to_a_file_is_not_intercepted() -> None:
    before = sys.stdout
    with LiveLine(err(), catch_output=False):
        assert sys.stdout is before
    assert sys.stdout is before
