"""Draw the terminal output of a command: `python docs/_making/picture.py docs/images/demo.svg make demo`.

The command runs on a pseudo-terminal; the final contents of the terminal become an SVG.
"""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.text import Text

WIDTH, HEIGHT = 104, 120


def capture_terminal(command: Sequence[str]) -> list[Text]:
    """Return the lines on the terminal after the command has ended.

    Raises:
        SystemExit: the command failed.
    """
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.ByteStream(screen)
    reader, writer = pty.openpty()
    # Independent of a make that may have started this process.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    size = {"COLUMNS": str(WIDTH), "LINES": str(HEIGHT), "TERM": "xterm-256color"}
    running = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env=environment | size
    )
    os.close(writer)
    with contextlib.suppress(OSError):  # raised on Linux when the last writer closes the terminal
        while read := os.read(reader, 4096):
            stream.feed(read)
    if status := running.wait():
        sys.exit(
            "\n".join(line.rstrip() for line in screen.display if line.strip()) + f"\nended with {status}"
        )
    lines = [_line(screen, number) for number in range(HEIGHT)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def _line(screen: pyte.Screen, number: int) -> Text:
    """Return a line of the terminal, without the path of the working directory."""
    cells = [screen.buffer[number][column] for column in range(WIDTH)]
    text = Text()
    for style, run in groupby(cells, _style):
        text.append("".join(cell.data for cell in run), style)
    here = f"{Path.cwd()}/"
    if here in text.plain:
        text = Text(text.plain.replace(here, ""))
    text.rstrip()
    return text


def _style(cell: Char) -> Style:
    colour = None if cell.fg == "default" else cell.fg.replace("brown", "yellow")
    return Style(color=_known(colour), bold=cell.bold, italic=cell.italics)


def _known(colour: str | None) -> str | None:
    return (
        f"#{colour}"
        if colour and len(colour) == 6 and all(c in "0123456789abcdef" for c in colour)
        else colour
    )


def main(target: str, *command: str) -> None:
    """Run the command and write the picture."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(Text(f"$ {' '.join(command)}", style="bold"))
    for line in capture_terminal(command):
        console.print(line, no_wrap=True)
    Path(target).write_text(console.export_svg(title="headrace", unique_id="demo"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
