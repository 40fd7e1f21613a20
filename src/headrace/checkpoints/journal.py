"""JSON-lines logs of limited size beside a checkpoint.

Each line ends with a digest of its JSON and of the line before, so that a changed, missing or moved line is
detected. Only the end of a log may be incomplete: the run was killed while it wrote there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from headrace.errors import DamagedFileError
from headrace.sealed_files import RESTORE, chain

MAX_BYTES = 4 << 20
"""Size at which a log is rotated; one rotated log is kept."""

_SEAL = b" #seal "
_DIGITS = 32


def append_line(file: Path, line: Mapping[str, object], *, sync: bool = False) -> None:
    """Append a line, with `sync` durably; rotate the log first if it is larger than `MAX_BYTES`."""
    if file.exists() and file.stat().st_size > MAX_BYTES:
        file.replace(_rotation_of(file))
    append_durably(file, line, sync=sync)


def append_durably(file: Path, line: Mapping[str, object], *, sync: bool = True) -> None:
    """Append a line, with `sync` durably; never rotates the log. An incomplete last line is removed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as log:
        log.write(seal_line(json.dumps(line).encode(), _last_digest(log, file)))
        if sync:
            log.flush()
            os.fsync(log.fileno())


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the rotated and the current log, oldest first; skip an incomplete last line.

    Raises:
        DamagedFileError: a line is damaged or missing.
    """
    for part in (_rotation_of(file), file):
        content = part.read_bytes() if part.exists() else b""
        before = file.name.encode()
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            text = line[: -_DIGITS - len(_SEAL)]
            if seal_line(text, before) != line + b"\n":
                what = f"line {number} is damaged, or one before it is missing"
                raise DamagedFileError(what, where=str(part), hint=RESTORE)
            before = line[-_DIGITS:]
            yield json.loads(text)


def seal_line(text: bytes, before: bytes) -> bytes:
    """Return a line of a log with its digest; `before` is that of the last line, or the name of the log."""
    return b"%b%b%b\n" % (text, _SEAL, chain(text, before))


def _last_digest(log: IO[bytes], file: Path) -> bytes:
    """Return the digest of the last line; remove an incomplete one, so that it does not spoil the next."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(size - _DIGITS - 1, 0))
    end = log.read()
    if end and not end.endswith(b"\n"):
        log.seek(0)
        log.truncate(log.read().rfind(b"\n") + 1)
        return _last_digest(log, file)
    return end[:-1] if end else file.name.encode()


def _rotation_of(file: Path) -> Path:
    return file.with_suffix(".1.jsonl")
