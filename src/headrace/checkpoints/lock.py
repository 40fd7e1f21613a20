"""The lock of a checkpoint directory, and the record of its holder and of how the last run ended.

The lock is a `flock`, which ends with the processes that hold it. The JVM of a run inherits the lock: it ends
shortly after its driver is killed, and until then it may still write to the checkpoint.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Literal

from headrace.errors import OptionError

Ending = Literal["stopped", "caught_up", "drained", "fenced"]
"""How a run ended for which no standby takes over; a run that failed or was killed records none."""

ORPHAN_SECONDS = 60.0
"""Time that the JVM of a killed run has to end; it may have a class archive to write."""
_POLL = 0.1


@dataclass(frozen=True)
class Holder:
    """The run that holds a lock or held it last."""

    pid: int | None = None
    machine: str = ""
    ending: Ending | None = None
    """None while the run is active, and after it if it failed or was killed."""

    def __str__(self) -> str:
        return f"process {self.pid or 'unknown'}"

    @property
    def is_here(self) -> bool:
        """True if the run is, or may be, on this machine."""
        return self.machine in (machine_id(), "")

    @property
    def is_dead(self) -> bool:
        """True if the driver process of the run is known to have ended."""
        return self.pid is not None and self.machine == machine_id() and not _is_alive(self.pid)


class DirectoryLock:
    """A lock file."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, without locking it.

        Raises:
            OptionError: the directory cannot be written to.
        """
        self.path = path
        self.held = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("a+")
        except OSError as error:
            what = f"cannot write to the directory: {error.strerror}"
            hint = "choose another --checkpoint"
            raise OptionError(what, where=str(path.parent), hint=hint) from error

    @property
    def descriptor(self) -> int:
        """The file descriptor; a process that inherits it holds the lock too."""
        return self._file.fileno()

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free; return False if another process holds it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.held = True
        return True

    def acquire(self) -> None:
        """Acquire the lock; wait only for the JVM of a run whose driver process has ended.

        Raises:
            OptionError: another run holds the lock.
        """
        deadline = time.monotonic() + ORPHAN_SECONDS
        while not self.try_acquire():
            holder = self.read()
            if not holder.is_dead or time.monotonic() > deadline:
                self.release()
                what = f"another run of the pipeline is using it ({holder})"
                hint = "stop that run, or choose another --checkpoint"
                raise OptionError(what, where=str(self.path.parent), hint=hint)
            time.sleep(_POLL)

    def read(self) -> Holder:
        """Return the holder; without a pid if none was recorded yet."""
        self._file.seek(0)
        try:
            record = json.loads(self._file.read())
        except ValueError:  # empty, or while the holder writes it
            return Holder()
        return Holder(**record) if isinstance(record, dict) else Holder(record)  # before: the pid alone

    def record(self, ending: Ending | None = None) -> None:
        """Record this process as the holder, or how its run ended."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps(asdict(Holder(os.getpid(), machine_id(), ending))))
        self._file.flush()

    @property
    def is_replaced(self) -> bool:
        """True if the path leads to another file, because the directory was moved."""
        try:
            return not os.path.samestat(os.fstat(self.descriptor), self.path.stat())
        except FileNotFoundError:
            return True

    def release(self) -> None:
        """Release the lock, if it is held, also for processes that inherited it; close the file."""
        if self.held:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self.held = False
        self._file.close()


@cache
def machine_id() -> str:
    """Return an id that all processes of this machine share, containers included, until it boots again."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else platform.node()


def _is_alive(pid: int) -> bool:
    """Return True if a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except ProcessLookupError:
        return False
    except OSError:  # another user's process, or a system without /proc
        return True
