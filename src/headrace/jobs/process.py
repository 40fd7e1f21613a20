"""Driver processes: start one, identify it after a restart of the service, kill it with its children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.access import ENVIRONMENT, SAFE_PATH, Access
from headrace.jobs.directory import AttemptDirectory
from headrace.spark.warm.places import OFF

VARIABLE = "HEADRACE_JOB"
"""The environment variable that identifies the processes of a job."""
_OWN = ("HEADRACE_TOKEN", "HEADRACE_PASSWORD", "HEADRACE_STORE")
SECRETS = (*_OWN, *(f"{name}_FILE" for name in _OWN))
"""Variables of the service that its jobs must not read, and those that name files with their values."""
_HAS_PROC = Path("/proc/self/stat").exists()


@dataclass(frozen=True)
class ProcessIdentity:
    """A process, identified by pid and start time, because a pid can be reused."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """True if this process is running."""
        return start_time(self.pid) == self.started


def spawn(
    command: Sequence[str],
    attempt: AttemptDirectory,
    *,
    job: str,
    directory: Path,
    lock: int,
    access: Access | None = None,
) -> subprocess.Popen[bytes]:
    """Start a driver in a new session; it inherits the lock of the job."""
    attempt.path.mkdir(parents=True, exist_ok=True)
    with attempt.log.open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
            env=environment_of(job, access),
        )


def environment_of(job: str, access: Access | None = None) -> dict[str, str]:
    """Return the environment of the processes of a job: that of the service, without its secrets.

    No process of the job, Python workers of Spark included, imports a module of Python from its directory.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in (*SECRETS, ENVIRONMENT)}
    restriction = {} if access is None else access.environment()
    return inherited | restriction | {VARIABLE: job, SAFE_PATH: "1", OFF: "off"}


def kill_group(leader: int, job: str) -> None:
    """Kill the processes of a job in the process group of its driver, also if the driver has ended."""
    if not _HAS_PROC or any(_job_of(pid) == job for pid in _members(leader)):
        try:
            os.killpg(leader, signal.SIGKILL)
        except ProcessLookupError:
            return


def start_time(pid: int) -> str | None:
    """Return the start time of a process, in an unspecified unit; None if there is no such process.

    >>> start_time(os.getpid()) == start_time(os.getpid()), start_time(2**22 + 1)
    (True, None)
    """
    if _HAS_PROC:
        fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        return fields[19] if fields and fields[0] != "Z" else None
    listing = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listing.stdout.strip() or None


def _members(group: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _group_of(pid) == group]


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _job_of(pid: int) -> str | None:
    """Return the job in the environment of a process, if it has one."""
    entries = _read(Path(f"/proc/{pid}/environ")).split("\0")
    return next((entry.partition("=")[2] for entry in entries if entry.startswith(f"{VARIABLE}=")), None)


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
