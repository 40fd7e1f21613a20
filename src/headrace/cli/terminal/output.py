"""Where commands write: data to standard output, talk and errors to standard error; colours only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

from headrace.explain.text import Line

THEME = Theme(
    {
        "title": "bold",
        "heading": "bold",
        "name": "bold",
        "verb": "cyan",
        "fact": "",
        "label": "magenta",
        "rail": "dim",
        "query": "bold",
        "mark.native": "green",
        "mark.kernel": "bold blue",
        "mark.python": "bold yellow",
        "exactly_once": "green",
        "at_least_once": "yellow",
        "at_most_once": "red",
        "good": "green",
        "bad": "bold red",
        "warn": "yellow",
        "hint": "cyan",
    }
)
WIDE = 110


def out() -> Console:
    """Standard output, for what the user asked for."""
    return Console(theme=THEME, highlight=False)


def err() -> Console:
    """Standard error, for errors, progress and advice."""
    return Console(theme=THEME, highlight=False, stderr=True)


def say(text: str = "", style: str = "") -> None:
    """A line of advice or progress on standard error, never wrapped or read as markup."""
    err().print(Text(text, style=style), soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """A line on standard output, never wrapped or read as markup."""
    out().print(Text(text, style=style), soft_wrap=True)


def show_cropped(text: str) -> None:
    """Text on standard output; on a terminal its lines end at the edge, in a file they are whole."""
    console = out()
    for line in text.splitlines():
        console.print(Text(line, no_wrap=True, overflow="ellipsis"), soft_wrap=not console.is_terminal)


def show_json(data: Any) -> None:
    """Data on standard output as indented JSON: the same bytes on a terminal and in a pipe."""
    sys.stdout.write(json.dumps(data, indent=2, default=str, ensure_ascii=False) + "\n")


def show_lines(lines: Iterable[Line]) -> None:
    """Lines of (text, role) spans on standard output, each role in its colour."""
    print_lines(out(), lines)


def print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Lines of (text, role) spans, each role in its colour."""
    for line in lines:
        text = Text.assemble(*((text, role) if role else text for text, role in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def width() -> int:
    """How wide text may be: the terminal's width, or a fixed one where there is none."""
    console = out()
    return min(console.width, 140) if console.is_terminal else WIDE
