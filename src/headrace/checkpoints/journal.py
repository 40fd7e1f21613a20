"""JSON-lines logs of limited size beside a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

MAX_BYTES = 4 << 20
"""Size at which a log is rotated; one rotated log is kept."""


def append_line(file: Path, line: Mapping[str, object]) -> None:
    """Append a line; rotate the log first if it is larger than `MAX_BYTES`."""
    if file.exists() and file.stat().st_size > MAX_BYTES:
        file.replace(_rotation_of(file))
    with open_log(file) as log:
        log.write(json.dumps(line) + "\n")


def open_log(file: Path) -> IO[str]:
    """Open a log for appending; an incomplete last line is ended, so that it does not spoil the next one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    log = file.open("a+")
    content_size = log.seek(0, os.SEEK_END)
    if content_size:
        log.seek(content_size - 1)
        if log.read() != "\n":
            log.write("\n")
    return log


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the rotated and the current log, oldest first; skip an incomplete line."""
    for part in (_rotation_of(file), file):
        for line in part.read_text().splitlines() if part.exists() else ():
            try:
                yield json.loads(line)
            except ValueError:  # the run crashed while writing it; the epoch is replayed
                continue


def _rotation_of(file: Path) -> Path:
    return file.with_suffix(".1.jsonl")
