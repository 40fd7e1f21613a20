"""A pipeline's directory. One run at a time has it.

queries/<query>/     Spark's checkpoint of each query, its lineage, and where its rows went (balance.jsonl)
handover/<output>/   rows on their way from one query to the next
kept/<output>/       late rows and dead letters that no sink takes
logs/                Spark's log
pipeline             whose it is: sinks know epochs by that name
sealed               the input was finished for good; no run begins here again
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, NoReturn

from headrace.errors import OptionError


class PipelineDirectory:
    """The directory, held by one run through a lock that a dead process lets go of."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def taken(cls, pipeline: str, path: str | Path | None = None) -> PipelineDirectory:
        """Make and lock the directory.

        Raises:
            OptionError: another run has it, it is another pipeline's, or the pipeline was finished in it.
        """
        place = Path(path) if path is not None else Path(".headrace") / pipeline
        try:
            place.mkdir(parents=True, exist_ok=True)
            lock = (place / "lock").open("a+")
        except OSError as error:
            raise OptionError(
                f"the directory can't be written: {error.strerror}",
                where=str(place),
                hint="choose another --checkpoint",
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise OptionError(
                f"another run of the pipeline is using it (process {holder})",
                where=str(place),
                hint="stop that one, or choose another --checkpoint",
            ) from None
        directory = cls(place, lock)
        directory._enter(pipeline)
        return directory

    def seal(self) -> None:
        """Note that the input has ended for good."""
        (self.path / "sealed").touch()

    def release(self) -> None:
        """Let another run have it."""
        self._lock.close()

    def _refuse(self, what: str, hint: str) -> NoReturn:
        self.release()
        raise OptionError(what, where=str(self.path), hint=hint)

    def _enter(self, pipeline: str) -> None:
        owner = self.path / "pipeline"
        if not owner.exists():
            owner.write_text(pipeline)
        if (name := owner.read_text()) not in (pipeline, ""):  # a crash may have left it empty
            self._refuse(f"it is the checkpoint of another pipeline, `{name}`", "choose another --checkpoint")
        if (self.path / "sealed").exists():
            self._refuse(
                "the pipeline was finished here: its input ended for good and every window is closed",
                "remove the directory to start anew, or choose another --checkpoint",
            )
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(str(os.getpid()))
        self._lock.flush()
