"""Processes that outlive the command that started them, identified by process id and a mark."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class DetachedProcess:
    """A process started by this or an earlier command.

    The mark is a part of the command line; it distinguishes the process from a later one with the same id.
    """

    pid: int
    mark: str

    @property
    def running(self) -> bool:
        """True until the process has ended."""
        child = _children.get(self.pid)
        if child is not None:
            return child.poll() is None  # a zombie still has an entry
        return self.mark in command_line(self.pid)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process is running."""
        if self.running:
            os.kill(self.pid, number)


_children: dict[int, subprocess.Popen[bytes]] = {}
"""Processes started here; they are waited for, so that none remains as a zombie."""


def launch(command: Sequence[str], mark: str, log: Path, environment: dict[str, str]) -> DetachedProcess:
    """Start a process in a new session, with its output in a log file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=log.parent,
            start_new_session=True,  # Ctrl-C is handled by the command that started it
        )
    _children[process.pid] = process
    return DetachedProcess(process.pid, mark)


def terminate(processes: Sequence[DetachedProcess], *, timeout: float) -> None:
    """End processes with SIGTERM, and with SIGKILL after the timeout in seconds."""
    for process in processes:
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + timeout
    for process in processes:
        while process.running:
            if time.monotonic() > deadline:
                process.send(signal.SIGKILL)
            time.sleep(_POLL_SECONDS)


def command_line(pid: int) -> str:
    """Return the command line of a process; empty if there is none."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            return ""
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
