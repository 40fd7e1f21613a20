"""The supervisor: starts driver processes, restarts failed ones, and re-attaches to running ones."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.access import Access
from headrace.jobs.directory import AttemptDirectory, JobDirectory, read_json
from headrace.jobs.model import Attempt, Job
from headrace.jobs.process import ProcessIdentity, kill_group, spawn
from headrace.jobs.states import ConflictError, JobState, UnknownJobError
from headrace.jobs.store.database import StoreError
from headrace.jobs.store.jobs import JobStore

DRIVER = (sys.executable, "-P", "-m", "headrace.cli.app", "drive")
"""The command of a driver; `-P`, because a submitted file must not shadow a module of Python."""
MAX_BACKOFF_SECONDS = 300.0
STEADY_SECONDS = 600.0
"""The run time after which an attempt resets the count of consecutive failures."""
KILL_SECONDS = 30.0
_RUNNING_PHASES = ("", "reading", "draining")

_log = logging.getLogger("headrace.jobs")


class Supervisor:
    """Changes the states of jobs, holding `lock`."""

    def __init__(
        self,
        store: JobStore,
        directory: Callable[[str], JobDirectory],
        *,
        command: Sequence[str] = DRIVER,
        access: Access | None = None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._command = tuple(command)
        self._access = access
        self._children: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
        self.lock = threading.RLock()

    def advance(self) -> None:
        """Check every active job once and perform the actions that are due."""
        for listed in self._store.active():
            try:
                with self.lock:
                    job = self._store.get(listed.id)
                    if job.state.active:  # a request may have ended it meanwhile
                        self._advance(job)
            except UnknownJobError:
                continue
            except StoreError:
                raise
            except Exception:
                _log.exception("job %s cannot be advanced", listed.id)

    def kill(self, job: Job) -> Job:
        """Kill the driver of a job and wait until it has ended."""
        directory = self._directory(job.id)
        deadline = time.monotonic() + KILL_SECONDS
        while directory.is_locked and time.monotonic() < deadline:
            identity = self._identity(job)
            pid = job.pid if identity is None else identity.pid  # no identity: it has only been started
            if pid is not None:
                kill_group(pid, job.id)
            time.sleep(0.02)
        if directory.is_locked:
            raise ConflictError("the driver process cannot be killed", where=f"job {job.id}")
        self._clean_up(job)
        self._close_attempt(job, "killed", None)
        return self._store.move(job, JobState.KILLED, "killed by request", pid=None, exit_reason="killed")

    def start(self, job: Job, reason: str) -> Job:
        """Start the next attempt of a job."""
        number = job.attempts + 1
        changes: dict[str, Any] = {"attempts": number, "next_start": None, "pid": None, "exit_reason": None}
        job = self._store.move(job, JobState.STARTING, reason, **changes)
        self._store.save_attempt(Attempt(job.id, number, time.time()))
        return self._spawn(job)

    def _advance(self, job: Job) -> None:
        attempt = self._directory(job.id).attempt(job.attempts)
        if job.state is JobState.SUBMITTED:
            self.start(job, "submitted")
        elif self._is_alive(job):
            self._observe(job, attempt)
        elif job.state is JobState.RESTARTING:
            self._restart_if_due(job)
        elif self._never_started(job, attempt):
            self._spawn_or_stop(job)
        else:
            self._end(job, attempt)

    def _is_alive(self, job: Job) -> bool:
        child = self._children.get((job.id, job.attempts))
        if child is not None:
            child.poll()  # reaps the process
        return self._directory(job.id).is_locked

    def _observe(self, job: Job, attempt: AttemptDirectory) -> None:
        """Record the pid of a living driver, and that its queries run."""
        identity, started = self._identity(job), self._store.attempts(job.id)[-1]
        if started.process_started is None and identity is not None:
            job = self._store.change(job, pid=identity.pid)
            self._store.save_attempt(replace(started, pid=identity.pid, process_started=identity.started))
        if job.state is JobState.STARTING and is_running(read_json(attempt.status)):
            self._store.move(job, JobState.RUNNING, "the queries are running", error=None)

    def _restart_if_due(self, job: Job) -> None:
        if job.attempts and (attempts := self._store.attempts(job.id)) and attempts[-1].ended is None:
            ending = read_json(self._directory(job.id).attempt(job.attempts).exit) or {}
            self._clean_up(job)
            self._close_attempt(job, str(ending.get("ending", "killed")), ending.get("error"))
        if job.next_start is None or time.time() >= job.next_start:
            self.start(job, "restart")

    def _never_started(self, job: Job, attempt: AttemptDirectory) -> bool:
        """True if the service was killed before it started the process of the last attempt."""
        return (job.id, job.attempts) not in self._children and not attempt.driver.exists()

    def _spawn_or_stop(self, job: Job) -> None:
        if job.state is JobState.STOPPING:
            self._close_attempt(job, "stopped", None)
            self._store.move(job, JobState.STOPPED, "stopped before it started", exit_reason="stopped")
        else:
            self._spawn(job)

    def _spawn(self, job: Job) -> Job:
        directory = self._directory(job.id)
        if directory.read_request() == "stop":
            directory.clear_request()
        with directory.hold_lock() as lock:
            if lock is None:  # a driver is alive; the next round observes it
                return job
            arguments = [str(directory.path), "--attempt", str(job.attempts)]
            child = spawn(
                [*self._command, *arguments],
                directory.attempt(job.attempts),
                job=job.id,
                directory=Path(job.directory) if job.directory else directory.files,
                lock=lock,
                access=self._access,
            )
        self._children[(job.id, job.attempts)] = child
        return self._store.change(job, pid=child.pid)

    def _identity(self, job: Job) -> ProcessIdentity | None:
        """Return the process of the last attempt, if it is alive."""
        record = read_json(self._directory(job.id).attempt(job.attempts).driver)
        if record is None:
            return None
        identity = ProcessIdentity(int(record["pid"]), str(record["started"]))
        return identity if identity.alive else None

    def _end(self, job: Job, attempt: AttemptDirectory) -> None:
        """Record the end of an attempt, and restart the job if it failed and may succeed."""
        ending = read_json(attempt.exit) or self._infer_ending(job)
        reason, error = str(ending.get("ending") or self._describe_crash(job)), ending.get("error")
        crashed = not ending
        self._clean_up(job)
        self._close_attempt(job, reason, error)
        if crashed or reason == "failed":
            retry = bool(ending.get("retry", True)) and job.state is not JobState.STOPPING
            self._fail(job, reason, error or f"the driver process ended: {reason}", retry=retry)
            return
        state = JobState.DRAINED if reason == "drained" else JobState.STOPPED
        self._directory(job.id).clear_request()
        self._store.move(job, state, reason, pid=None, exit_reason=reason, failures=0)

    def _infer_ending(self, job: Job) -> dict[str, Any]:
        """Return the ending of a driver that was killed after draining the pipeline; else an empty dict."""
        drained = (self._directory(job.id).checkpoint / "drained").exists()
        return {"ending": "drained"} if drained else {}

    def _fail(self, job: Job, reason: str, error: str, *, retry: bool) -> None:
        began = self._store.attempts(job.id)[-1].started
        failures = 1 if time.time() - began >= STEADY_SECONDS else job.failures + 1
        changes: dict[str, Any] = {
            "pid": None,
            "error": error,
            "exit_reason": reason,
            "failures": failures,
        }
        if not retry or failures > job.settings.restart_limit:
            self._store.move(job, JobState.FAILED, reason, **changes)
            return
        delay = min(job.settings.backoff_seconds * 2 ** (failures - 1), MAX_BACKOFF_SECONDS)
        changes |= {"next_start": time.time() + delay, "restarts": job.restarts + 1}
        self._store.move(job, JobState.RESTARTING, reason, **changes)

    def _describe_crash(self, job: Job) -> str:
        child = self._children.get((job.id, job.attempts))
        status = None if child is None else child.poll()
        if status is None:
            return "ended without a report"
        return f"killed by signal {-status}" if status < 0 else f"exit status {status}"

    def _clean_up(self, job: Job) -> None:
        """Kill processes that a crashed driver has left, such as its JVM."""
        if job.pid is not None:
            kill_group(job.pid, job.id)
        if (child := self._children.pop((job.id, job.attempts), None)) is not None:
            child.wait()

    def _close_attempt(self, job: Job, reason: str, error: str | None) -> None:
        attempts = self._store.attempts(job.id)
        if attempts and attempts[-1].ended is None:
            ended = replace(attempts[-1], ended=time.time(), exit_reason=reason, error=error)
            self._store.save_attempt(ended)


def is_running(tick: Mapping[str, Any] | None) -> bool:
    """True if the queries run, according to the last tick of the driver."""
    return tick is not None and tick.get("phase", "") in _RUNNING_PHASES


class Loop:
    """A thread that calls a function at intervals until it is stopped."""

    def __init__(self, name: str, period: float, action: Callable[[], None]) -> None:
        self._period = period
        self._action = action
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._action()
            except StoreError:  # logged by the store; the next round may succeed
                pass
            except Exception:
                _log.exception("%s failed", self._thread.name)
            self._stopped.wait(self._period)
