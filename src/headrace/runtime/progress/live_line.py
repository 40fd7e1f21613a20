"""A status line at the bottom of a terminal, redrawn while other text scrolls above it.

Replaces Rich's `Live`, which another Rich console (such as that of the console sink) would overwrite.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.text import Text

_CLEAR = "\r\x1b[2K"


class LiveLine:
    """A context manager that prints text for standard output and standard error above the status line."""

    def __init__(self, console: Console, *, catch_output: bool) -> None:
        self._console = console
        self._catch_output = catch_output
        self._lock = threading.RLock()
        self._line = ""
        self._at_line_start = True
        """True if the last printed text ended with a newline; the status line is drawn only then."""

    def __enter__(self) -> Self:
        self._terminal = sys.stderr
        self._before = (sys.stdout, sys.stderr)
        if self._catch_output:
            sys.stdout = _Above(self, sys.stdout)
        sys.stderr = _Above(self, sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout, sys.stderr = self._before
        self.draw(Text())

    def draw(self, text: Text) -> None:
        """Replace the line; it is truncated to the width of the terminal."""
        text.truncate(max(self._console.width - 1, 1), overflow="ellipsis")
        with self._console.capture() as capture:
            self._console.print(text, end="", soft_wrap=True)
        with self._lock:
            self._line = capture.get()
            if self._at_line_start:
                self._terminal.write(_CLEAR + self._line)
                self._terminal.flush()

    def above(self, file: TextIO, text: str) -> int:
        """Write text to its stream and redraw the line below it."""
        if not text:
            return 0
        with self._lock:
            if self._at_line_start:
                self._terminal.write(_CLEAR)
                self._terminal.flush()
            written = file.write(text)
            file.flush()
            self._at_line_start = text.endswith("\n")
            if self._at_line_start:
                self._terminal.write(self._line)
                self._terminal.flush()
        return written


class _Above:
    """A text stream that writes above the status line."""

    def __init__(self, line: LiveLine, file: TextIO) -> None:
        self._line = line
        self._file = file

    def write(self, text: str) -> int:
        return self._line.above(self._file, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
