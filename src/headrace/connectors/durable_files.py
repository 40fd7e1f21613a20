"""Files that survive a crash of the machine: written, renamed and removed durably, and sealed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from headrace.sealed_files import RESTORE, is_sealed, seal, unseal

HINT = RESTORE


def read_json(path: Path, default: Any, *, name: Path | None = None) -> Any:
    """Return the value in a sealed JSON file; the default if there is no file.

    Args:
        path: the file.
        default: returned if there is no file.
        name: the name that the file is sealed with, if its directory may be renamed; default: its path.

    Raises:
        DamagedFileError: the file is damaged.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return default
    return decode_json(content, path, name=name)


def decode_json(content: bytes, path: Path, *, name: Path | None = None) -> Any:
    """Return the value in the content of a sealed JSON file.

    Files of version 0.2 have no seal. A sealed file that is damaged does not pass for one of them, because a
    damaged seal is not JSON.

    Raises:
        DamagedFileError: the file is damaged.
    """
    if content and not is_sealed(content):
        try:
            return json.loads(content)
        except ValueError:
            pass
    return json.loads(unseal(content, name or path, hint=RESTORE, where=path))


def write_json(path: Path, value: Any, *, name: Path | None = None) -> None:
    """Write a value as sealed JSON, atomically and durably; create the directory if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, seal(json.dumps(value).encode(), name or path))


def write_durably(path: Path, content: bytes) -> None:
    """Write a file atomically and durably."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Make a file that another process has written durable, with its name."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make created, renamed and removed files of a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
