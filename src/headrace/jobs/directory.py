"""The directory of a job: submitted files, checkpoint, and files for the exchange between service and driver.

files/                  the submitted files
checkpoint/             the checkpoint directory of the pipeline
job.json                the pipeline file and the settings
lock                    held by the driver process until it ends
control.json            the last request of the service: stop or drain
inquiry.json            an inquiry of the service, such as the state of a key
answer.json             the answer of the driver
plan.json               the plan, as `headrace explain --json` prints it
attempts/<n>/
    driver.json         the driver's pid and start time
    status.json         the metrics of the last tick
    exit.json           how the attempt ended
    log.txt             standard output and standard error of the driver
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

Command = Literal["stop", "drain"]


class JobDirectory:
    """The files of one job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = path / "files"
        self.checkpoint = path / "checkpoint"
        self.control = path / "control.json"
        self.plan = path / "plan.json"

    def attempt(self, number: int) -> AttemptDirectory:
        """Return the directory of an attempt."""
        return AttemptDirectory(self.path / "attempts" / str(number))

    def request(self, command: Command) -> None:
        """Write a request for the driver."""
        write_json(self.control, {"command": command})

    def read_request(self) -> Command | None:
        """Return the pending request of the service, if any."""
        request = read_json(self.control)
        return None if request is None else request["command"]

    def clear_request(self) -> None:
        """Remove the request."""
        self.control.unlink(missing_ok=True)

    @property
    def is_locked(self) -> bool:
        """True if a driver process of this job is alive."""
        with self._open_lock() as descriptor:
            return not _try_lock(descriptor)

    @contextmanager
    def hold_lock(self) -> Iterator[int | None]:
        """Hold the lock inside the block and yield its file descriptor; yield None if a driver holds it.

        A process that inherits the descriptor also holds the lock, until it ends. So a driver never runs
        without the lock, even if the service is killed right after starting it.
        """
        with self._open_lock() as descriptor:
            yield descriptor if _try_lock(descriptor) else None

    @contextmanager
    def _open_lock(self) -> Iterator[int]:
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


class AttemptDirectory:
    """The files of one attempt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.driver = path / "driver.json"
        self.status = path / "status.json"
        self.exit = path / "exit.json"
        self.log = path / "log.txt"


_MEASUREMENTS = frozenset(
    {"rate_in", "rate_out", "lag", "latency_ms", "event_latency_ms", "batch_ms", "watermark_delay_ms"}
)
"""The values of a tick that a run which has ended no longer has."""


def write_json(file: Path, data: Any) -> None:
    """Replace a file atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(data, separators=(",", ":"), default=str))
    draft.replace(file)


def read_json(file: Path) -> dict[str, Any] | None:
    """Return the content of a file; None if it does not exist."""
    try:
        content: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    return content


def totals_of(tick: Mapping[str, Any]) -> dict[str, Any]:
    """Return the totals of the last tick of a run, which the next run continues, without what it measured.

    >>> totals_of({"metrics": {"rows_in": 1, "rate_in": 2.0}, "steps": {}, "lag_by_partition": {}})
    {'metrics': {'rows_in': 1}, 'steps': {}}
    """
    steps = {name: _without_measurements(step) for name, step in tick.get("steps", {}).items()}
    return {"metrics": _without_measurements(tick.get("metrics", {})), "steps": steps}


def _without_measurements(counts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in counts.items() if name not in _MEASUREMENTS}


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
