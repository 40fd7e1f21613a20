"""The cache directory, for files that can be fetched or built again: jars, the Java launcher, logs.

`HEADRACE_CACHE` names the directory; without it, it is `headrace` in the user's cache directory. It can be
deleted at any time when nothing runs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """Return the cache directory of this user; it may not exist yet."""
    if named := os.environ.get("HEADRACE_CACHE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headrace"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path` among all processes of this machine, so that only one of them makes it.

    The lock is a file beside `path` (`.name.lock`), which stays: deleting it would let two in.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def replace_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file that others see either as it was or whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.replace(path)
