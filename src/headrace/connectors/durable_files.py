"""Files that survive a crash of the machine: written, renamed and removed durably."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_json(path: Path, default: Any) -> Any:
    """Return the value in a JSON file; the default if there is no file."""
    return json.loads(path.read_text()) if path.exists() else default


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically and durably; create the directory if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, json.dumps(value).encode())


def write_durably(path: Path, content: bytes) -> None:
    """Write a file atomically and durably."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make created, renamed and removed files of a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
