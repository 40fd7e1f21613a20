"""Reads the log of an attempt from its end, so that a page can follow it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.errors import without_passwords

_WINDOW = 512 * 1024


@dataclass(frozen=True)
class LogPart:
    """Lines of a log; `offset` is where the next read continues."""

    lines: tuple[str, ...]
    offset: int


def read_log(file: Path, *, offset: int = -1, search: str = "") -> LogPart:
    """Return the complete lines after an offset that contain `search`; from -1, the last half megabyte.

    A line that is still being written is returned by the next read.
    """
    if not file.is_file():
        return LogPart((), 0)
    size = file.stat().st_size
    start = max(0, size - _WINDOW) if offset < 0 or offset > size else offset
    with file.open("rb") as log:
        log.seek(start)
        content = log.read(_WINDOW)
    complete = content[: content.rfind(b"\n") + 1]
    lines = without_passwords(complete.decode(errors="replace")).splitlines()
    if offset < 0 and start > 0:
        lines = lines[1:]  # its beginning is not in the window
    return LogPart(tuple(line for line in lines if search.lower() in line.lower()), start + len(complete))
