"""Reports on jobs: snapshots, samples for the history, alerts and lineage events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from headrace.jobs.directory import JobDirectory, read_json, totals_of
from headrace.jobs.model import Job
from headrace.jobs.security.documents import hide_secrets
from headrace.jobs.states import JobState
from headrace.jobs.store.database import Database
from headrace.metrics.alerts.engine import AlertEngine
from headrace.metrics.alerts.notify import notifiers_of
from headrace.metrics.alerts.rules import AlertSettings
from headrace.metrics.alerts.store import AlertStore
from headrace.metrics.history import History, details_of
from headrace.metrics.lineage import EVENTS, LineageEmitter, run_event

SAMPLE_SECONDS = 5.0
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


class Reporter:
    """Reports on the jobs of a service."""

    def __init__(
        self,
        database: Database,
        directory: Callable[[str], JobDirectory],
        *,
        alerts: AlertSettings | None = None,
        lineage: str | None = None,
    ) -> None:
        settings = alerts or AlertSettings()
        self.rules = tuple(settings.rules)
        self._directory = directory
        self._next_sample = 0.0
        self._lineage = None if lineage is None else LineageEmitter(lineage)
        self.history = History(database)
        self.alerts = AlertStore(database)
        self._engine = AlertEngine(settings, self.alerts, notifiers_of(settings.notify), self.history)

    def snapshot(self, job: Job) -> dict[str, Any]:
        """Return a job with the metrics of its last tick, as one document."""
        tick = self._last_tick(job)
        settings = job.settings.model_dump(exclude_none=True)
        settings["conf"] = hide_secrets(settings["conf"])
        return {"phase": "", "steps": {}, "queries": {}, **tick, **asdict(job), "settings": settings} | {
            "metrics": EMPTY_METRICS | tick.get("metrics", {}) | {"restarts": job.restarts},
            "alerts": [alert.as_json() for alert in self._engine.firing() if alert.job == job.id],
        }

    def tick(self, jobs: Sequence[Job]) -> None:
        """Evaluate the alerts and add samples to the history."""
        snapshots = [self.snapshot(job) for job in jobs]
        self._engine.evaluate(snapshots)
        self._sample(snapshots)

    def emit_lineage(self, job: Job) -> None:
        """Emit the lineage event of an attempt that has changed its state."""
        if self._lineage is not None and job.attempts and job.state in EVENTS:
            plan = read_json(self._directory(job.id).plan) or {}
            self._lineage.emit(run_event(job, plan.get("datasets", {})))

    def close(self) -> None:
        """Wait until all lineage events are sent."""
        if self._lineage is not None:
            self._lineage.close()

    def _last_tick(self, job: Job) -> dict[str, Any]:
        """Return the last tick; before the first one of an attempt, the totals of the attempt before it."""
        for number in range(job.attempts, 0, -1):
            if (tick := read_json(self._directory(job.id).attempt(number).status)) is not None:
                return tick if number == job.attempts else totals_of(tick)
        return {}

    def _sample(self, snapshots: Sequence[dict[str, Any]]) -> None:
        """Add the metrics of active jobs to the history."""
        now = time.time()
        if now < self._next_sample:
            return
        self._next_sample = now + SAMPLE_SECONDS
        for snapshot in snapshots:
            if JobState(snapshot["state"]).active and snapshot.get("at"):
                self.history.add(snapshot["id"], now, snapshot["metrics"], details_of(snapshot))
        self.history.clean_if_due()
