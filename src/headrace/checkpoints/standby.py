"""The place of a standby at a checkpoint directory: it waits for the lock of the run."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from headrace.checkpoints.directory import PipelineDirectory, directory_of
from headrace.checkpoints.lock import DirectoryLock, Holder
from headrace.errors import OptionError


class StandbyPlace:
    """The place of the only standby of a checkpoint directory.

    Once `try_acquire` has returned True, `holder` is the run that held the lock last, and its ending decides
    between `take_over` and `leave`.
    """

    def __init__(self, pipeline: str, path: str | Path | None = None) -> None:
        """Register as the standby of a directory.

        Raises:
            OptionError: another standby waits there, or the run is on another machine.
        """
        self._pipeline = pipeline
        self._path = directory_of(pipeline, path)
        self._lock = DirectoryLock(self._path / "lock")
        self._own = DirectoryLock(self._path / "standby")
        self.directory = PipelineDirectory(self._path, self._lock)
        if not self._own.try_acquire():
            what = f"another standby is waiting for the run ({self._own.read()})"
            self._reject(what, "a run has one standby: end the other one first")
        self._own.record()
        self.holder = Holder()
        self.is_free = self.try_acquire()
        """True if no run held the lock when the standby registered."""

    def try_acquire(self) -> bool:
        """Acquire the lock if no run holds it, and read the holder.

        Raises:
            OptionError: the run is on another machine, or the directory was replaced.
        """
        acquired = self._lock.try_acquire()
        self.holder = self._lock.read()
        if self._lock.is_replaced:
            what = "the directory was replaced while the standby was waiting for its run"
            self._reject(what, "start the standby again")
        if not acquired and not self.holder.is_here:
            what = (
                f"the run is on another machine ({self.holder}), and locks may have no effect across machines"
            )
            self._reject(what, "start the standby on the machine of the run")
        return acquired

    def take_over(self) -> PipelineDirectory:
        """Become the run of the directory; another standby may register then.

        Raises:
            OptionError: no run may start there, for instance because the pipeline was drained.
        """
        try:
            self.directory.claim(self._pipeline)
        finally:
            self._own.release()
        return self.directory

    def leave(self) -> None:
        """Give up the place, and the lock if it was acquired."""
        self._own.release()
        self._lock.release()

    def _reject(self, what: str, hint: str) -> NoReturn:
        self.leave()
        raise OptionError(what, where=str(self._path), hint=hint)
