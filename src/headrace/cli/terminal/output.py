"""Write data to standard output, messages and errors to standard error; colours only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
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
        "mark.arrow": "bold magenta",
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
    """Return the console of standard output, for results."""
    return Console(theme=THEME, highlight=False)


def err() -> Console:
    """Return the console of standard error, for messages."""
    return Console(theme=THEME, highlight=False, stderr=True)


def print_message(text: str = "", style: str = "") -> None:
    """Print a message on standard error, without wrapping or markup."""
    err().print(Text(text, style=style), soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """Print a line on standard output, without wrapping or markup."""
    out().print(Text(text, style=style), soft_wrap=True)


def show_table(heading: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows in aligned columns; `styles` are those of the heading and of each row."""
    table = [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells, style in zip_longest(table, styles, fillvalue=""):
        show("  ".join(map(str.ljust, cells, widths)).rstrip(), style)


def show_cropped(text: str) -> None:
    """Print text on standard output; lines are cropped on a terminal only."""
    console = out()
    for line in text.splitlines():
        console.print(Text(line, no_wrap=True, overflow="ellipsis"), soft_wrap=not console.is_terminal)


def show_json(data: Any) -> None:
    """Print data as indented JSON, identical on a terminal and in a pipe."""
    sys.stdout.write(json.dumps(data, indent=2, default=str, ensure_ascii=False) + "\n")


def show_lines(lines: Iterable[Line]) -> None:
    """Print lines of (text, role) spans on standard output in their colours."""
    print_lines(out(), lines)


def print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Print lines of (text, role) spans in their colours."""
    for line in lines:
        text = Text.assemble(*((text, role) if role else text for text, role in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def width() -> int:
    """Return the width of the terminal, or a default."""
    console = out()
    return min(console.width, 140) if console.is_terminal else WIDE
