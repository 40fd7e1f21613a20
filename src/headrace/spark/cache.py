"""The cache directory, for files that can be downloaded or built again: jars, the Java launcher, logs.

Set by `HEADRACE_CACHE`; default: `headrace` in the user's cache directory. It can be deleted while no process
uses it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """Return the cache directory of this user; it may not exist."""
    if path := os.environ.get("HEADRACE_CACHE"):
        return Path(path).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headrace"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock `path` among the processes of this machine, so that one of them writes it.

    The lock file (`.name.lock` beside `path`) is not deleted: two processes could then hold the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def replace_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that readers see either the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.replace(path)
