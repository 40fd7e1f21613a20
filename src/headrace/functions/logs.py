"""Labels prints and log records of user code with the step and the key.

They are written to the standard error of the Python worker, which is part of the run's log.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Iterator
from typing import Any


class StepOutput(io.TextIOBase):
    """A text stream that writes whole lines to standard error, each with a label."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label
        self.key: Any = None
        """The key that the step is processing."""
        self._partial = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._write_line(line)
        return len(text)

    def end(self) -> None:
        """Write a last line that has no newline."""
        if self._partial:
            self._write_line(self._partial)
            self._partial = ""

    def _write_line(self, line: str) -> None:
        key = "" if self.key is None else f" {', '.join(map(str, self.key))}"
        sys.stderr.write(f"[{self.label}{key}] {line}\n")
        sys.stderr.flush()


class _StepHandler(logging.Handler):
    """Writes log records to the output of the step."""

    def __init__(self, output: StepOutput) -> None:
        super().__init__(logging.INFO)
        self._output = output
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._output.write(f"{self.format(record)}\n")


@contextlib.contextmanager
def label_output(step: str) -> Iterator[StepOutput]:
    """Label the prints and log records of the block; the caller may set the key."""
    output, root = StepOutput(step), logging.getLogger()
    handler, level = _StepHandler(output), root.level
    stream: Any = output
    root.addHandler(handler)
    root.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        with contextlib.redirect_stdout(stream):
            yield output
    finally:
        output.end()
        root.removeHandler(handler)
        root.setLevel(level)
