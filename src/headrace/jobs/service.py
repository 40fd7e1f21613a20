"""The job service: the operations behind REST, command line and pages."""

from __future__ import annotations

import fcntl
import getpass
import secrets
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from headrace.errors import OptionError, without_passwords
from headrace.jobs.autoscaling import Autoscaler
from headrace.jobs.directory import JobDirectory, read_json, write_json
from headrace.jobs.inquiries import Inquiry, inquire
from headrace.jobs.model import Job
from headrace.jobs.reporting import Reporter
from headrace.jobs.sample_runs import SampleRuns
from headrace.jobs.security.audit import DAYS, AuditLog
from headrace.jobs.security.documents import apply_defaults, check_submission
from headrace.jobs.security.files import protect_directory
from headrace.jobs.security.policy import Policy
from headrace.jobs.states import ConflictError, JobState
from headrace.jobs.store.database import Database
from headrace.jobs.store.jobs import JobStore
from headrace.jobs.store.schema import create_tables
from headrace.jobs.submission import Submission
from headrace.jobs.supervisor import DRIVER, Loop, Supervisor
from headrace.jobs.upgrades import JobUpgrades
from headrace.metrics.alerts.rules import AlertSettings

PERIOD = 0.5
"""Seconds between two rounds of the supervisor."""
TICK_SECONDS = 1.0
AUDIT_SECONDS = 3600.0
LOG_BYTES = 1 << 20
_STOPPABLE = {JobState.STARTING, JobState.RUNNING}


class JobService:
    """Runs jobs. Only one service at a time can use a data directory."""

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
        audit_days: float = DAYS,
    ) -> None:
        """Open the data directory and the store.

        Args:
            data: the directory of the jobs.
            store: a PostgreSQL URL; default: a SQLite file in the data directory.
            command: the command of a driver process.
            period: seconds between two rounds of the supervisor.
            alerts: rules and channels of alerts.
            policy: the access policy; default: full access from this machine.
            lineage: the URL of an OpenLineage server, or a file for its events.
            audit_days: days after which entries of the audit log are deleted.

        Raises:
            OptionError: another service holds the directory or the store, or it cannot be opened.
        """
        self.policy = policy or Policy()
        self.data = data.resolve()
        self._resources = ExitStack()
        self.sample_runs = SampleRuns(self.policy)
        self._resources.callback(self.sample_runs.close)
        self._lock_data()
        try:
            self.database = self._open_store(store or str(self.data / "jobs.db"))
        except BaseException:
            self._resources.close()
            raise
        self.audit = AuditLog(self.database, audit_days)
        self._reporter = Reporter(self.database, self.directory, alerts=alerts, lineage=lineage)
        self._resources.callback(self._reporter.close)
        self.history, self.alerts = self._reporter.history, self._reporter.alerts
        self.alert_rules = self._reporter.rules
        self.store = JobStore(self.database, self._reporter.emit_lineage)
        self._supervisor = Supervisor(self.store, self.directory, command=command, access=self.policy.access)
        self._loops = [
            Loop("supervisor", period, self._supervisor.advance),
            Loop("ticks", TICK_SECONDS, lambda: self._reporter.tick(self.store.all_jobs())),
            Loop("autoscaling", period, self._autoscale),
            Loop("audit", AUDIT_SECONDS, self.audit.clean),
        ]
        self._autoscaler = Autoscaler(JobUpgrades(self).scale_by_rule, self.store.last_start)

    @property
    def lock(self) -> threading.RLock:
        """Held while jobs change; the supervisor waits for it."""
        return self._supervisor.lock

    def start(self) -> None:
        """Start supervising all jobs, those of an earlier service included."""
        for loop in self._loops:
            loop.start()

    def pause(self) -> None:
        """Stop supervising; the jobs continue to run."""
        for loop in self._loops:
            loop.stop()

    def close(self) -> None:
        """Release the store and the data directory."""
        self._resources.close()

    def submit(self, submission: Submission) -> Job:
        """Check a pipeline, store its files and start it as a new job.

        Raises:
            OptionError: a path, a size or a setting is not accepted.
            DocumentError: the document is invalid.
            PlanError: the plan is invalid.
        """
        pipeline = check_submission(submission, self.policy)
        now = time.time()
        job = Job(
            id=secrets.token_hex(6),
            name=submission.name or pipeline,
            owner=submission.owner or getpass.getuser(),
            file=submission.file,
            version=submission.version,
            directory=submission.directory,
            settings=apply_defaults(submission.settings, self.policy),
            created=now,
            changed=now,
        )
        directory = self.directory(job.id)
        record = {"file": job.file, "settings": job.settings.model_dump(), "files": sorted(submission.files)}
        try:
            submission.store(directory.files)
            write_json(directory.path / "job.json", record)
            return self.store.add(job)
        except BaseException:  # such as a full disk
            shutil.rmtree(directory.path, ignore_errors=True)
            raise

    def jobs(self) -> list[Job]:
        """Return all jobs, the newest first."""
        return self.store.all_jobs()

    def get(self, job: str) -> Job:
        """Return a job."""
        return self.store.get(job)

    def stop_job(self, job: str) -> Job:
        """Stop a job gracefully: finish the current micro-batch, commit, exit; `restart` resumes it."""
        with self.lock:
            current = self.store.get(job)
            if current.state is JobState.SUBMITTED or self._is_waiting(current):
                return self.store.move(current, JobState.STOPPED, "stopped by request", next_start=None)
            if current.state is JobState.RESTARTING or current.state in _STOPPABLE:
                self.directory(job).request("stop")
                return self.store.move(current, JobState.STOPPING, "stopped by request", next_start=None)
            raise self._conflict(current, "stopped")

    def drain(self, job: str) -> Job:
        """Drain a job: stop reading, fire and close every window, end for good."""
        with self.lock:
            current = self.store.get(job)
            if current.state not in _STOPPABLE:
                raise self._conflict(current, "drained")
            self.directory(job).request("drain")
            return self.store.move(current, JobState.DRAINING, "drained by request")

    def kill(self, job: str) -> Job:
        """Kill the driver process; `restart` processes the current micro-batch again."""
        with self.lock:
            current = self.store.get(job)
            if not current.state.active:
                raise self._conflict(current, "killed")
            return self._supervisor.kill(current)

    def restart(self, job: str, reason: str = "restarted by request") -> Job:
        """Start a job again from its checkpoint; a running one is stopped gracefully first."""
        with self.lock:
            current = self.store.get(job)
            if current.state is JobState.RUNNING:
                self.directory(job).request("stop")
                return self.store.move(current, JobState.RESTARTING, reason, failures=0)
            if self._is_waiting(current):
                return self.store.change(current, next_start=None, failures=0)
            if current.state in (JobState.STOPPED, JobState.FAILED, JobState.KILLED):
                self.store.change(current, failures=0)
                return self._supervisor.start(self.store.get(job), reason)
            raise self._conflict(current, "restarted")

    def clone(self, job: str, owner: str = "") -> Job:
        """Submit the files and settings of a job as a new job, with a new checkpoint."""
        current = self.store.get(job)
        files = self._read_files(self.directory(job))
        submission = Submission(current.file, files, current.name, owner, current.directory, current.settings)
        return self.submit(submission)

    def delete(self, job: str) -> None:
        """Delete a job that has ended, with its files and its checkpoint."""
        with self.lock:
            current = self.store.get(job)
            if current.state.active or self.directory(job).is_locked:
                raise self._conflict(current, "deleted")
            self.store.delete(job)
            shutil.rmtree(self.directory(job).path, ignore_errors=True)

    def directory(self, job: str) -> JobDirectory:
        """Return the directory of a job."""
        return JobDirectory(self.data / "jobs" / job)

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

    def inquire(self, job: str, inquiry: Inquiry) -> dict[str, Any]:
        """Return the answer of the driver of a running job."""
        current = self.store.get(job)
        if current.state is not JobState.RUNNING:
            raise self._conflict(current, "inspected")
        return inquire(self.directory(job), inquiry)

    def snapshot(self, job: Job) -> dict[str, Any]:
        """Return a job with the metrics of its last tick, as one document."""
        return self._reporter.snapshot(job)

    def _autoscale(self) -> None:
        """Scale the jobs that have a rule for it."""
        jobs = [job for job in self.store.active() if job.settings.autoscale is not None]
        self._autoscaler.observe(list(map(self.snapshot, jobs)))

    def _read_files(self, directory: JobDirectory) -> dict[str, bytes]:
        """Return the submitted files, without files that the job has written to the same directory."""
        names = (read_json(directory.path / "job.json") or {}).get("files")
        paths = sorted(directory.files.rglob("*")) if names is None else [directory.files / n for n in names]
        return {str(path.relative_to(directory.files)): path.read_bytes() for path in paths if path.is_file()}

    def _is_waiting(self, job: Job) -> bool:
        return job.state is JobState.RESTARTING and not self.directory(job.id).is_locked

    def _conflict(self, job: Job, verb: str) -> ConflictError:
        return ConflictError(f"a job that is {job.state} cannot be {verb}", where=f"job {job.id}")

    def _open_store(self, url: str) -> Database:
        database = Database(url)
        self._resources.callback(database.close)
        database.claim()
        create_tables(database)
        return database

    def _lock_data(self) -> None:
        where, hint = str(self.data), "choose another --data"
        try:
            self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            protect_directory(self.data / "jobs")
            lock = self._resources.enter_context((self.data / "service.lock").open("a+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._resources.close()
            raise OptionError("another job service is using the directory", where=where, hint=hint) from None
        except OSError as error:
            raise OptionError(f"cannot write there: {error.strerror}", where=where, hint=hint) from None
