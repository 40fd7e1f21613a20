"""The checkpoint directory of a pipeline, locked by one run at a time.

queries/<query>/     Spark's checkpoint of each query, its checkpoint id and its row accounting
exchange/<output>/   rows between two queries
unrouted/<output>/   side outputs without a sink
logs/                Spark's log
pipeline             the name of the pipeline, under which sinks record epochs, and the version of the layout
drained              exists if the pipeline was drained; no run starts here again
lock, standby        the run and the standby of the directory
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from headrace.checkpoints.integrity.verification import check_files_of_run
from headrace.checkpoints.lock import DirectoryLock, Ending
from headrace.checkpoints.owner import (
    is_drained,
    mark_drained,
    read_owner,
    read_session,
    require_layout,
    write_owner,
)
from headrace.errors import DamagedFileError, OptionError

_FRESH = "start over with --fresh, or choose another --checkpoint"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""A URL, also as a `Path`, which has one slash."""
_OLD_LAYOUT = ("queries/*/lineage", "queries/*/balance.jsonl", "handover", "kept", "sealed")
"""Paths that only version 0.1 wrote."""


class PipelineDirectory:
    """A locked checkpoint directory; the lock ends with the process and its JVM."""

    def __init__(self, path: Path, lock: DirectoryLock) -> None:
        self.path = path
        self.replaced = False
        """True if the directory had a temporary checkpoint, which was removed."""
        self._lock = lock

    @classmethod
    def acquire(
        cls, pipeline: str, path: str | Path | None = None, *, fresh: bool = False, session: str = ""
    ) -> PipelineDirectory:
        """Create and lock the directory.

        Args:
            pipeline: the name of the pipeline.
            path: the directory; default: `.headrace/<pipeline>`.
            fresh: move a directory with a checkpoint aside and start with an empty one.
            session: the rows in memory that a temporary checkpoint belongs to: the checkpoint of another
                one, or one that was drained, is removed.

        Raises:
            OptionError: another run has locked it, it belongs to another pipeline, the pipeline was drained
                in it, or version 0.1 or 0.2 wrote it.
            DamagedFileError: a file that a run reads again is damaged or missing.
        """
        directory = cls._lock_path(directory_of(pipeline, path))
        if session and directory._is_over(pipeline, session, fresh=fresh):
            directory = directory._remove_content()
        elif fresh:
            directory._check_owner(pipeline)
            directory = directory._move_aside()
        directory.claim(pipeline, session=session)
        return directory

    @classmethod
    def replace(cls, pipeline: str, path: Path, prepared: Path) -> Path | None:
        """Replace a directory that no run has locked by a prepared one.

        Returns:
            The path that the previous directory was moved to; None if it had no checkpoint.

        Raises:
            OptionError: a run has locked it, or it belongs to another pipeline.
        """
        directory = cls._lock_path(path)
        directory._check_owner(pipeline)
        aside = next_aside(path)
        path.rename(aside)
        prepared.rename(path)
        directory.release()
        if (aside / "queries").exists():
            return aside
        shutil.rmtree(aside)
        return None

    @classmethod
    def _lock_path(cls, path: Path) -> PipelineDirectory:
        lock = DirectoryLock(path / "lock")
        lock.acquire()
        return cls(path, lock)

    @property
    def lock_descriptor(self) -> int:
        """The file descriptor of the lock, for the JVM to inherit."""
        return self._lock.descriptor

    def claim(self, pipeline: str, *, session: str = "") -> None:
        """Check that a run can use the directory; write the name of the pipeline and the process id.

        Args:
            pipeline: the name of the pipeline.
            session: the rows in memory that a new checkpoint belongs to, if it is temporary.

        Raises:
            OptionError: a run cannot use it; the lock is released.
            DamagedFileError: a file that a run reads again is damaged or missing; the lock is released.
        """
        self._check_owner(pipeline)
        with self._release_on_error():
            require_layout(self.path)
        if restoring_path(self.path).exists() and not (self.path / "queries").exists():
            hint = "repeat headrace savepoint restore"
            self._reject("the restore of a savepoint was interrupted", hint)
        if any(any(self.path.glob(pattern)) for pattern in _OLD_LAYOUT):
            self._reject("the checkpoint was written by headrace 0.1, whose layout cannot be read", _FRESH)
        with self._release_on_error():
            drained = is_drained(self.path)
        if drained:
            self._reject("the pipeline was drained here: its input has ended for good", _FRESH)
        with self._release_on_error():
            check_files_of_run(self.path)
        is_kept = (self.path / "queries").exists() and not read_session(self.path)
        write_owner(self.path, pipeline, session="" if is_kept else session)
        self._lock.record()

    def mark_drained(self) -> None:
        """Record that the pipeline was drained."""
        mark_drained(self.path)

    def record_ending(self, ending: Ending) -> None:
        """Record how the run ended, for its standby, which takes over if there is no such record."""
        if self._lock.held:
            with suppress(OSError):  # the disk is full: the standby takes over
                self._lock.record(ending)

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def _is_over(self, pipeline: str, session: str, *, fresh: bool) -> bool:
        """Return True if the directory has a temporary checkpoint that no run resumes."""
        with suppress(DamagedFileError):  # `claim` reports it
            owner = read_session(self.path)
            if owner and read_owner(self.path) == pipeline:
                return fresh or owner != session or is_drained(self.path)
        return False

    def _remove_content(self) -> PipelineDirectory:
        """Remove the directory and lock an empty one in its place."""
        path = next_aside(self.path)
        directory = self._move_aside()
        shutil.rmtree(path, ignore_errors=True)
        directory.replaced = True
        return directory

    def _move_aside(self) -> PipelineDirectory:
        """Rename the directory and lock an empty one in its place."""
        self.path.rename(next_aside(self.path))
        self.release()
        return PipelineDirectory._lock_path(self.path)

    def _reject(self, what: str, hint: str) -> NoReturn:
        self.release()
        raise OptionError(what, where=str(self.path), hint=hint)

    def _check_owner(self, pipeline: str) -> None:
        name = ""
        with suppress(DamagedFileError):  # `claim` reports it; a damaged directory can be moved aside
            name = read_owner(self.path)
        if name not in (pipeline, ""):
            self._reject(f"it is the checkpoint of another pipeline, `{name}`", "choose another --checkpoint")

    @contextmanager
    def _release_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.release()
            raise


def next_aside(path: Path) -> Path:
    """Return the path to which a checkpoint directory is moved aside."""
    numbers = itertools.count(1)
    return next(aside for n in numbers if not (aside := path.with_name(f"{path.name}.old-{n}")).exists())


def restoring_path(path: Path) -> Path:
    """Return the path at which a savepoint is prepared before it replaces a checkpoint directory."""
    return path.with_name(f"{path.name}.restoring")


def directory_of(pipeline: str, path: str | Path | None = None) -> Path:
    """Return the checkpoint directory of a pipeline; default: `.headrace/<pipeline>`.

    Raises:
        OptionError: the path is a URL.
    """
    if path is None:
        return Path(".headrace") / pipeline
    if _URL.match(str(path)):
        raise OptionError(
            "a checkpoint needs a file system with locks and atomic renames, not an object store",
            where=f"checkpoint {path}",
            hint="use a disk, a volume or a mounted share (NFS, EFS); sources and sinks can be in a store",
        )
    return Path(path)
