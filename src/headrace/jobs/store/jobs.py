"""Jobs, attempts and transitions in the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from headrace.jobs.model import Attempt, Job, JobSettings
from headrace.jobs.states import ConflictError, JobState, UnknownJobError, is_legal
from headrace.jobs.store.database import Database


class JobStore:
    """Reads and changes jobs; every change of state is checked and recorded."""

    def __init__(self, database: Database, on_move: Callable[[Job], None] = lambda job: None) -> None:
        """Use a database; `on_move` is called with each job that has changed its state."""
        self._database = database
        self._on_move = on_move

    def add(self, job: Job) -> Job:
        """Insert a new job."""
        _insert(self._database, "jobs", _row(job))
        return job

    def get(self, job: str) -> Job:
        """Return a job.

        Raises:
            UnknownJobError: no job has this id.
        """
        rows = self._database.rows("SELECT * FROM jobs WHERE id = ?", (job,))
        if not rows:
            raise UnknownJobError(f"no job has the id {job!r}", where="jobs", hint="headrace jobs list")
        return _job(rows[0])

    def all_jobs(self) -> list[Job]:
        """Return all jobs, the newest first."""
        return [_job(row) for row in self._database.rows("SELECT * FROM jobs ORDER BY created DESC, id")]

    def active(self) -> list[Job]:
        """Return the active jobs, oldest first."""
        return [job for job in reversed(self.all_jobs()) if job.state.active]

    def move(self, job: Job, state: JobState, reason: str, **changes: Any) -> Job:
        """Change the state of a job, and further columns with it, in one transaction.

        Raises:
            ConflictError: the state of the job has changed, or the transition is not legal.
        """
        if not is_legal(job.state, state):
            raise ConflictError(f"a job that is {job.state} cannot become {state}", where=f"job {job.id}")
        now = time.time()
        changed = replace(job, **changes, state=state, changed=now)
        with self._database.transaction():
            if not self._update(changed, job.state):
                raise ConflictError(f"the job is no longer {job.state}", where=f"job {job.id}")
            values = {"job": job.id, "at": now, "before": job.state, "after": state, "reason": reason}
            _insert(self._database, "transitions", values)
        self._on_move(changed)
        return changed

    def change(self, job: Job, **changes: Any) -> Job:
        """Change columns of a job, but not its state."""
        changed = replace(job, **changes)
        self._update(changed, job.state)
        return changed

    def delete(self, job: str) -> None:
        """Delete a job with its attempts and transitions."""
        with self._database.transaction():
            for table in ("attempts", "transitions", "samples", "alerts"):
                self._database.execute(f"DELETE FROM {table} WHERE job = ?", (job,))
            self._database.execute("DELETE FROM jobs WHERE id = ?", (job,))

    def save_attempt(self, attempt: Attempt) -> None:
        """Insert an attempt, or replace it."""
        with self._database.transaction():
            key = (attempt.job, attempt.number)
            self._database.execute("DELETE FROM attempts WHERE job = ? AND number = ?", key)
            _insert(self._database, "attempts", asdict(attempt))

    def attempts(self, job: str) -> list[Attempt]:
        """Return the attempts of a job, oldest first."""
        rows = self._database.rows("SELECT * FROM attempts WHERE job = ? ORDER BY number", (job,))
        return [Attempt(**row) for row in rows]

    def transitions(self, job: str) -> list[dict[str, Any]]:
        """Return the transitions of a job: time, state before and after, reason."""
        query = "SELECT at, before, after, reason FROM transitions WHERE job = ? ORDER BY at"
        return self._database.rows(query, (job,))

    def last_start(self, job: str) -> float:
        """Return the time at which a job last began to run; 0 if it never did."""
        query = "SELECT MAX(at) AS at FROM transitions WHERE job = ? AND after = ?"
        rows = self._database.rows(query, (job, str(JobState.RUNNING)))
        return float(rows[0]["at"] or 0)

    def _update(self, job: Job, expected: JobState) -> bool:
        row = _row(job)
        columns = ", ".join(f"{name} = ?" for name in row)
        statement = f"UPDATE jobs SET {columns} WHERE id = ? AND state = ?"
        return self._database.execute(statement, (*row.values(), job.id, str(expected))) == 1


def _row(job: Job) -> dict[str, Any]:
    row = {name: getattr(job, name) for name in Job.__dataclass_fields__}
    return row | {"settings": job.settings.model_dump_json(), "state": str(job.state)}


def _job(row: dict[str, Any]) -> Job:
    settings = JobSettings.model_validate_json(row["settings"])
    return Job(**{**row, "settings": settings, "state": JobState(row["state"])})


def _insert(database: Database, table: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join("?" for _ in row)
    values = [str(value) if isinstance(value, JobState) else value for value in row.values()]
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
