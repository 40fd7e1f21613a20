"""The job service: the verbs of REST, command line and pages."""

from __future__ import annotations

import fcntl
import getpass
import secrets
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.errors import OptionError, without_passwords
from headrace.jobs.directory import JobDirectory, read_json, write_json
from headrace.jobs.live import LiveFeed
from headrace.jobs.model import Job
from headrace.jobs.security.documents import check_submission, hide_secrets, limit_memory
from headrace.jobs.security.policy import Policy
from headrace.jobs.states import ConflictError, JobState
from headrace.jobs.store.database import Database
from headrace.jobs.store.jobs import JobStore
from headrace.jobs.store.schema import create_tables
from headrace.jobs.submission import Submission
from headrace.jobs.supervisor import DRIVER, Loop, Supervisor
from headrace.metrics.alerts.engine import AlertEngine
from headrace.metrics.alerts.notify import notifiers_of
from headrace.metrics.alerts.rules import AlertSettings
from headrace.metrics.alerts.store import AlertStore
from headrace.metrics.history import History
from headrace.metrics.lineage import EVENTS, LineageEmitter, run_event

PERIOD = 0.5
"""Seconds between two rounds of the supervisor."""
SAMPLE_SECONDS = 5.0
LOG_BYTES = 1 << 20
_STOPPABLE = {JobState.STARTING, JobState.RUNNING}


class JobService:
    """Runs jobs. One service at a time holds the data directory."""

    def __init__(
        self,
        data: Path,
        *,
        store: str | None = None,
        command: Sequence[str] = DRIVER,
        period: float = PERIOD,
        alerts: AlertSettings | None = None,
        policy: Policy | None = None,
        lineage: str | None = None,
    ) -> None:
        """Open the data directory and the store.

        Args:
            data: the directory of the jobs.
            store: a PostgreSQL URL; default: a SQLite file in the data directory.
            command: the command of a driver process.
            period: seconds between two rounds of the supervisor.
            alerts: rules and channels of alerts.
            policy: who may do what; default: everything, from this machine.
            lineage: the URL of an OpenLineage server, or a file for its events.

        Raises:
            OptionError: another service holds the directory, or the store can't be opened.
        """
        self.policy = policy or Policy()
        self.data = data.resolve()
        self._resources = ExitStack()
        self._lock_data()
        self.database = Database(store or str(self.data / "jobs.db"))
        self._resources.callback(self.database.close)
        create_tables(self.database)
        self.store = JobStore(self.database, self._emit_lineage)
        self.live = LiveFeed()
        self.history = History(self.database)
        self.alerts = AlertStore(self.database)
        settings = alerts or AlertSettings()
        self._engine = AlertEngine(settings, self.alerts, notifiers_of(settings.notify))
        self._next_sample = 0.0
        self._lineage = None if lineage is None else LineageEmitter(lineage)
        self._supervisor = Supervisor(self.store, self.data, command=command)
        self._loops = [Loop("supervisor", period, self._supervisor.advance), Loop("ticks", 1.0, self._tick)]

    @property
    def lock(self) -> threading.RLock:
        """Held while jobs change; the supervisor waits for it."""
        return self._supervisor.lock

    def start(self) -> None:
        """Find the jobs of an earlier service again and supervise all jobs."""
        for loop in self._loops:
            loop.start()

    def pause(self) -> None:
        """End the supervision; the jobs go on."""
        for loop in self._loops:
            loop.stop()

    def close(self) -> None:
        """Release the store and the data directory."""
        if self._lineage is not None:
            self._lineage.close()
        self._resources.close()

    def submit(self, submission: Submission) -> Job:
        """Check a pipeline, store its files and start it as a new job.

        Raises:
            OptionError: a path, a size or a setting is not accepted.
            DocumentError: the document is wrong.
            PlanError: the pipeline can't run as written.
        """
        check_submission(submission, self.policy)
        pipeline = submission.check()
        now = time.time()
        job = Job(
            id=secrets.token_hex(6),
            name=submission.name or pipeline,
            owner=submission.owner or getpass.getuser(),
            file=submission.file,
            version=submission.version,
            directory=submission.directory,
            settings=limit_memory(submission.settings, self.policy),
            created=now,
            changed=now,
        )
        directory = self.directory(job.id)
        submission.store(directory.files)
        write_json(directory.path / "job.json", {"file": job.file, "settings": job.settings.model_dump()})
        return self.store.add(job)

    def jobs(self) -> list[Job]:
        """Return all jobs, the newest first."""
        return self.store.all_jobs()

    def get(self, job: str) -> Job:
        """Return a job."""
        return self.store.get(job)

    def stop_job(self, job: str) -> Job:
        """Stop a job gracefully: finish the current micro-batch, commit, exit; `restart` resumes it."""
        with self._supervisor.lock:
            current = self.store.get(job)
            if current.state is JobState.SUBMITTED or self._is_waiting(current):
                return self.store.move(current, JobState.STOPPED, "stopped by request", next_start=None)
            if current.state is JobState.RESTARTING or current.state in _STOPPABLE:
                self.directory(job).request("stop")
                return self.store.move(current, JobState.STOPPING, "stopped by request", next_start=None)
            raise self._conflict(current, "stopped")

    def drain(self, job: str) -> Job:
        """Drain a job: stop reading, fire and close every window, end for good."""
        with self._supervisor.lock:
            current = self.store.get(job)
            if current.state not in _STOPPABLE:
                raise self._conflict(current, "drained")
            self.directory(job).request("drain")
            return self.store.move(current, JobState.DRAINING, "drained by request")

    def kill(self, job: str) -> Job:
        """Kill the driver process; `restart` processes the current micro-batch again."""
        with self._supervisor.lock:
            current = self.store.get(job)
            if not current.state.active:
                raise self._conflict(current, "killed")
            return self._supervisor.kill(current)

    def restart(self, job: str) -> Job:
        """Start a job again from its checkpoint; a running one is stopped gracefully first."""
        with self._supervisor.lock:
            current = self.store.get(job)
            if current.state is JobState.RUNNING:
                self.directory(job).request("stop")
                return self.store.move(current, JobState.RESTARTING, "restarted by request", failures=0)
            if self._is_waiting(current):
                return self.store.change(current, next_start=None, failures=0)
            if current.state in (JobState.STOPPED, JobState.FAILED, JobState.KILLED):
                self.store.change(current, failures=0)
                return self._supervisor.start(self.store.get(job), "restarted by request")
            raise self._conflict(current, "restarted")

    def clone(self, job: str, owner: str = "") -> Job:
        """Submit the files and settings of a job as a new job, with a checkpoint of its own."""
        current = self.store.get(job)
        files = self.directory(job).files
        submitted = self._read_files(files)
        submission = Submission(
            current.file, submitted, current.name, owner, current.directory, current.settings
        )
        return self.submit(submission)

    def delete(self, job: str) -> None:
        """Delete a job that has ended, with its files and its checkpoint."""
        with self._supervisor.lock:
            current = self.store.get(job)
            if current.state.active or self.directory(job).is_locked:
                raise self._conflict(current, "deleted")
            self.store.delete(job)
            self.live.forget(job)
            shutil.rmtree(self.directory(job).path, ignore_errors=True)

    def directory(self, job: str) -> JobDirectory:
        """Return the directory of a job."""
        return self._supervisor.directory(job)

    def logs(self, job: str, attempt: int | None = None) -> str:
        """Return the end of the log of an attempt; default: the last one."""
        current = self.store.get(job)
        log = self.directory(job).attempt(attempt or current.attempts).log
        if not log.exists():
            return ""
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_BYTES))
            return without_passwords(file.read().decode("utf-8", errors="replace"))

    def document(self, job: str) -> str:
        """Return the text of the submitted pipeline file."""
        return (self.directory(job).files / self.store.get(job).file).read_text(errors="replace")

    def plan(self, job: str) -> dict[str, Any] | None:
        """Return the plan as `headrace explain --json` prints it; None until the driver has loaded it."""
        return read_json(self.directory(self.store.get(job).id).plan)

    def snapshot(self, job: Job) -> dict[str, Any]:
        """Return a job with the metrics of its last tick, as one document."""
        tick = read_json(self.directory(job.id).attempt(job.attempts).status) or {}
        settings = job.settings.model_dump(exclude_none=True)
        settings["conf"] = hide_secrets(settings["conf"])
        return {"phase": "", "steps": {}, "queries": {}, **tick, **asdict(job), "settings": settings} | {
            "metrics": EMPTY_METRICS | tick.get("metrics", {}) | {"restarts": job.restarts},
            "alerts": [asdict(alert) for alert in self._engine.firing() if alert.job == job.id],
        }

    def _tick(self) -> None:
        snapshots = [self.snapshot(job) for job in self.store.all_jobs()]
        self._engine.evaluate(snapshots)
        self.live.publish(snapshots)
        self._sample(snapshots)

    def _sample(self, snapshots: Sequence[dict[str, Any]]) -> None:
        """Add the metrics of active jobs to the history."""
        now = time.time()
        if now < self._next_sample:
            return
        self._next_sample = now + SAMPLE_SECONDS
        for snapshot in snapshots:
            if JobState(snapshot["state"]).active and snapshot.get("at"):
                self.history.add(snapshot["id"], now, snapshot["metrics"])
        self.history.clean_if_due()

    def _emit_lineage(self, job: Job) -> None:
        if self._lineage is not None and job.state in EVENTS:
            plan = read_json(self.directory(job.id).plan) or {}
            self._lineage.emit([run_event(job, plan.get("datasets", {}))])

    def _read_files(self, files: Path) -> dict[str, bytes]:
        found = (path for path in sorted(files.rglob("*")) if path.is_file())
        return {str(path.relative_to(files)): path.read_bytes() for path in found}

    def _is_waiting(self, job: Job) -> bool:
        return job.state is JobState.RESTARTING and not self.directory(job.id).is_locked

    def _conflict(self, job: Job, verb: str) -> ConflictError:
        return ConflictError(f"a job that is {job.state} can't be {verb}", where=f"job {job.id}")

    def _lock_data(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = self._resources.enter_context((self.data / "service.lock").open("a+"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._resources.close()
            what = "another job service is using the directory"
            raise OptionError(what, where=str(self.data), hint="choose another --data") from None


EMPTY_METRICS: dict[str, Any] = {
    "rows_in": 0,
    "rows_out": 0,
    "late": 0,
    "dead_letters": 0,
    "watermark": None,
    "lag": None,
    "latency_ms": {"p50": None, "p95": None, "p99": None},
}
"""The metrics of a job that has not reported yet."""
