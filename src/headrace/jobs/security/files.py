"""File modes: files of the service are readable by its user only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OTHERS = 0o077


@contextmanager
def private_files() -> Iterator[None]:
    """Create files and directories inside the block, also those of processes, without access for others."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def protect_directory(directory: Path) -> None:
    """Create a directory without access for others, or take the access from them."""
    directory.mkdir(exist_ok=True, mode=0o700)
    if is_open(directory):
        directory.chmod(0o700)


def is_open(directory: Path) -> bool:
    """True if other users than the owner have access to a directory."""
    return bool(directory.stat().st_mode & _OTHERS)
