"""The feed of the pages from the job service of this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace.checkpoints.comparison import Comparison
from headrace.checkpoints.savepoints import list_savepoints
from headrace.dashboard.feeds.base import (
    AlertView,
    AuditView,
    ChartData,
    EventView,
    JobFigures,
    JobView,
    RuleView,
    ScalingView,
    Severity,
    StepFigures,
    UserView,
)
from headrace.dashboard.feeds.series import SPARK_SECONDS, columns_of, sparkline_of
from headrace.jobs.autoscaling import REASON
from headrace.jobs.inquiries import Inquiry
from headrace.jobs.model import Attempt, Job
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import PrincipalStore
from headrace.jobs.service import JobService
from headrace.jobs.states import UnknownJobError
from headrace.jobs.submission import Submission
from headrace.jobs.upgrades import JobUpgrades
from headrace.metrics.alerts.rules import describe

SPARKLINE_REFRESH = 10.0
_BROKEN = ("failed", "row_accounting")


class ServiceFeed:
    """Reads jobs, plans, files and metrics of a `JobService`."""

    def __init__(self, service: JobService) -> None:
        self._service = service
        self._sparklines: dict[str, tuple[float, list[float | None]]] = {}

    @property
    def policy(self) -> Policy:
        """The access policy of the service."""
        return self._service.policy

    def jobs(self) -> Sequence[JobView]:
        """Return all jobs."""
        return [self._view(job) for job in self._service.jobs()]

    def job(self, job: str) -> JobView | None:
        """Return a job; None if there is none with this id."""
        try:
            return self._view(self._service.get(job))
        except UnknownJobError:
            return None

    def plan(self, job: str) -> dict[str, Any] | None:
        """Return the plan; None until the driver has loaded the pipeline."""
        return self._service.plan(job)

    def document(self, job: str) -> tuple[str, str]:
        """Return the name and the text of the submitted pipeline file."""
        return self._service.get(job).file, self._service.document(job)

    def directory(self, job: str) -> str:
        """Return the directory that relative paths of the document refer to.

        Empty if the service is restricted: it accepts no directory of its own machine.
        """
        own = self._service.get(job).directory
        if self._service.policy.is_restricted:
            return own or ""
        return own or str(self._service.directory(job).files)

    def history(self, job: str, seconds: float) -> ChartData:
        """Return the metrics of the last seconds."""
        now = time.time()
        restarts = [(attempt.started, "restart") for attempt in self.attempts(job)][:-1]
        upgrades = [
            (datetime.fromisoformat(each.created_at).timestamp(), "upgrade")
            for each in list_savepoints(self.checkpoint(job))
            if each.name.startswith("before-")
        ]
        samples = self._service.history.read(job, now - seconds, now)
        return ChartData(columns_of(samples), [*restarts, *upgrades])

    def attempts(self, job: str) -> Sequence[Attempt]:
        """Return the attempts, newest first."""
        return self._service.store.attempts(job)[::-1]

    def scaling(self, job: str) -> ScalingView | None:
        """Return the rule of a job and the changes of its size."""
        settings = self._service.get(job).settings
        changes = [
            (each["at"], each["reason"])
            for each in reversed(self._service.store.transitions(job))
            if each["reason"].startswith(REASON)
        ]
        if settings.autoscale is None and not changes:
            return None
        rule = settings.autoscale.describe() if settings.autoscale is not None else ""
        return ScalingView(rule, settings.executors, changes)

    def events(self, job: str) -> Sequence[EventView]:
        """Return the changes of state, requests, savepoints and alerts of a job, newest first."""
        service, submitted = self._service, self._service.get(job)
        events = [EventView(submitted.created, "submitted", submitted.owner)]
        events += map(_transition, service.store.transitions(job))
        events += [_request(entry) for entry in service.audit.of(job) if _is_change(entry)]
        events += [
            EventView(datetime.fromisoformat(each.created_at).timestamp(), "savepoint", detail=each.name)
            for each in list_savepoints(self.checkpoint(job))
        ]
        for alert in service.alerts.of(job):
            what = f"alert {alert.rule.replace('_', ' ')}"
            events.append(
                EventView(alert.since, what, detail=alert.message, severity=self._severity(alert.rule))
            )
            if alert.resolved is not None:
                events.append(EventView(alert.resolved, f"{what} resolved", severity="ok"))
        return sorted(events, key=lambda event: event.at, reverse=True)

    def log_file(self, job: str, attempt: int) -> Path:
        """Return the file with the output of an attempt."""
        return self._service.directory(job).attempt(attempt).log

    def checkpoint(self, job: str) -> Path:
        """Return the checkpoint directory of a job."""
        return self._service.directory(job).checkpoint

    def inquire(self, job: str, kind: str, step: str = "", key: str = "") -> Mapping[str, Any]:
        """Return the answer of the driver."""
        content = {"kind": kind, "step": step or None, "key": key or None}
        return self._service.inquire(job, Inquiry.model_validate(content))

    def alerts(self) -> Sequence[AlertView]:
        """Return firing and resolved alerts, newest first."""
        now, names = time.time(), {job.id: job.name for job in self._service.jobs()}
        return [
            AlertView(
                rule=alert.rule.replace("_", " "),
                job=alert.job,
                job_name=names[alert.job],
                severity=self._severity(alert.rule),
                text=alert.message,
                since=alert.since,
                resolved=alert.resolved,
                silenced=self._service.alerts.is_silenced(alert, now),
            )
            for alert in self._service.alerts.recent()
            if alert.job in names
        ]

    def rules(self) -> Sequence[RuleView]:
        """Return the rules of alerts."""
        rules = [RuleView(rule.label, describe(rule), rule.job or "") for rule in self._service.alert_rules]
        added = [
            RuleView(each.rule.label, describe(each.rule), each.rule.job or "", each.id, each.owner)
            for each in self._service.alerts.rules()
        ]
        return [*rules, *added]

    def users(self) -> tuple[Sequence[UserView], Sequence[UserView]]:
        """Return the users, and the tokens in force."""
        principals = PrincipalStore(self._service.database)
        users = [UserView(each["name"], each["role"], each["created"]) for each in principals.users()]
        tokens = [
            UserView(each["owner"], each["role"], each["created"], each["label"], each["expires"])
            for each in principals.tokens()
        ]
        return users, tokens

    def audit(self, before: float | None) -> AuditView:
        """Return the entries of the audit log before a time; default: the newest."""
        entries, older = self._service.audit.page(before)
        return AuditView(entries, older, self._service.audit.refused)

    def compare(self, job: str, document: str) -> Comparison | None:
        """Compare a new version of a job's document with its checkpoint; None if there is none."""
        current = self._service.get(job)
        submission = Submission(current.file, {current.file: document.encode()})
        return JobUpgrades(self._service).compare(current, submission)

    def test(self, document: str, rows: Mapping[str, str], directory: str | None) -> Mapping[str, Any]:
        """Run a document on sample rows."""
        return self._service.sample_runs.run(document, rows, directory)

    def about(self) -> Mapping[str, str]:
        """Return facts about the service."""
        jobs = self._service.jobs()
        masters = {job.settings.master or "local" for job in jobs if job.state.active}
        return {
            "Data directory": str(self._service.data),
            "Jobs": str(len(jobs)),
            "Spark master": ", ".join(sorted(masters)) or "no job is running",
        }

    def _view(self, job: Job) -> JobView:
        snapshot = self._service.snapshot(job)
        figures = figures_of(snapshot)
        alerts = sorted(snapshot["alerts"], key=lambda alert: self._severity(alert["rule"]) != "bad")
        return JobView(
            id=job.id,
            name=job.name,
            state=str(job.state),
            owner=job.owner,
            file=job.file,
            created=job.created,
            changed=job.changed,
            restarts=job.restarts,
            error=job.error,
            figures=figures if job.state.active else without_rates(figures),
            warning=next((alert["message"] for alert in alerts), ""),
            warned=next((alert["since"] for alert in alerts), 0.0),
            recent=self._sparkline(job.id),
        )

    def _severity(self, rule: str) -> Severity:
        """Return the severity of an alert: rows are lost or the job has ended, or it is slow."""
        added = [each.rule for each in self._service.alerts.rules()]
        kinds = {each.label: each.alert for each in (*self._service.alert_rules, *added)}
        return "bad" if kinds.get(rule, rule) in _BROKEN else "warn"

    def _sparkline(self, job: str) -> list[float | None]:
        """Return the rates of the last 15 minutes; they are read from the store every few seconds."""
        now = time.time()
        due, rates = self._sparklines.get(job, (0.0, []))
        if now >= due:
            rates = sparkline_of(self._service.history.read(job, now - SPARK_SECONDS, now), now)
            self._sparklines[job] = (now + SPARKLINE_REFRESH, rates)
        return rates


def _transition(entry: Mapping[str, Any]) -> EventView:
    tones: dict[str, Severity] = {"failed": "bad", "restarting": "warn", "running": "ok"}
    detail = "" if entry["reason"] == entry["after"] else entry["reason"]
    return EventView(entry["at"], entry["after"], detail=detail, severity=tones.get(entry["after"], "idle"))


def _is_change(entry: Mapping[str, Any]) -> bool:
    """True for a request that was accepted and is about the job itself; a comparison changes nothing.

    >>> [_is_change({"action": f"POST /jobs/1/{verb}", "outcome": "200"}) for verb in ("drain", "compare")]
    [True, False]
    """
    return str(entry["outcome"]).startswith("2") and not entry["action"].endswith("/compare")


def _request(entry: Mapping[str, Any]) -> EventView:
    verb = "delete" if entry["action"].startswith("DELETE") else entry["action"].rpartition("/")[2]
    verb = "submit" if verb == "jobs" else verb
    return EventView(entry["at"], f"{verb} requested", entry["actor"])


def figures_of(snapshot: Mapping[str, Any]) -> JobFigures:
    """Return the figures of a snapshot: the job with the metrics of its last tick."""
    metrics = snapshot["metrics"]
    latency, delay = metrics.get("latency_ms") or {}, metrics.get("watermark_delay_ms")
    queries, disorder = snapshot.get("queries") or {}, snapshot.get("out_of_order") or {}
    return JobFigures(
        rate_in=metrics.get("rate_in"),
        p99=latency.get("p99"),
        lag=metrics.get("lag"),
        watermark=metrics.get("watermark"),
        watermark_delay=None if delay is None else delay / 1000,
        event_age=(metrics.get("event_latency_ms") or {}).get("p50"),
        late=metrics["late"],
        dead_letters=metrics["dead_letters"],
        state_rows=metrics.get("state_rows"),
        state_bytes=metrics.get("state_bytes"),
        steps={
            name: _step(name, step, queries, metrics) for name, step in (snapshot.get("steps") or {}).items()
        },
        out_of_order=[(int(bound), int(rows)) for bound, rows in disorder.get("histogram_ms", ())],
        recommended_ms=disorder.get("recommended_ms"),
        slowest_partition=metrics.get("slowest_partition") or "",
    )


def without_rates(figures: JobFigures) -> JobFigures:
    """Return the counts of a job that has ended, without its last rates and gauges."""
    return JobFigures(
        late=figures.late,
        dead_letters=figures.dead_letters,
        steps={
            name: StepFigures(
                rows_in=step.rows_in,
                rows_out=step.rows_out,
                late=step.late,
                dead_letters=step.dead_letters,
                accounting=step.accounting,
                balanced=step.balanced,
                violated=step.violated,
                rules=step.rules,
                faults=step.faults,
                reception=step.reception,
                ledger_epoch=step.ledger_epoch,
            )
            for name, step in figures.steps.items()
        },
    )


def _step(
    name: str, step: Mapping[str, Any], queries: Mapping[str, Any], metrics: Mapping[str, Any]
) -> StepFigures:
    query, rules = queries.get(name, {}), step.get("rules") or {}
    reception = step.get("reception") or {}
    return StepFigures(
        rows_in=step.get("rows_in"),
        rows_out=step.get("rows_out"),
        rate_in=step.get("rate_in"),
        rate_out=step.get("rate_out"),
        late=step.get("late") or 0,
        dead_letters=step.get("dead_letters") or 0,
        busy=step.get("busy", query.get("busy")),
        state_rows=query.get("state_rows"),
        state_bytes=query.get("state_bytes"),
        watermark=query.get("watermark"),
        lag=reception.get("backlog", metrics.get("lag")),
        reception=reception,
        accounting=step.get("accounting") or {},
        balanced=step.get("balanced"),
        violated=step.get("violated") or {},
        rules=rules.get("in_force") or {},
        faults=rules.get("faults") or (),
        ledger_epoch=step.get("ledger_epoch"),
        partitions={name: (read, lag) for name, (read, lag) in (step.get("partitions") or {}).items()},
    )
