"""Judge jobs at a glance: severity, word and icon of each state, and the actions that a state allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.dashboard.feeds.base import JobView, Severity
from headrace.dashboard.formatting import count
from headrace.jobs.states import ENDED, JobState

ICONS: dict[Severity, str] = {"ok": "✓", "warn": "▲", "bad": "✕", "idle": "■"}
_STATES: dict[str, Severity] = {
    "running": "ok",
    "submitted": "idle",
    "starting": "idle",
    "stopping": "idle",
    "draining": "idle",
    "stopped": "idle",
    "drained": "idle",
    "killed": "idle",
    "restarting": "warn",
    "failed": "bad",
}
_REASONS = {
    "submitted": "The job waits for its driver process.",
    "starting": "The driver process and Spark are starting. The first rows follow in 10 to 20 seconds.",
    "stopping": "The current micro-batch is finished and committed first.",
    "draining": "The input of the time of the request is read; then every window fires and closes.",
}
_ORDER: tuple[Severity, ...] = ("bad", "warn", "ok", "idle")
_ACTIONS: dict[str, frozenset[str]] = {
    "stop": frozenset({"submitted", "starting", "running", "restarting"}),
    "drain": frozenset({"starting", "running"}),
    "kill": frozenset(JobState) - ENDED,
    "restart": frozenset({"running", "restarting", "stopped", "failed", "killed"}),
    "scale": frozenset({"submitted", "running", "stopped", "failed", "killed"}),
    "clone": frozenset(JobState),
    "delete": ENDED,
}


@dataclass(frozen=True)
class Health:
    """The severity of a job and the reason for it, if it is not its state."""

    severity: Severity
    word: str
    reason: str = ""

    @property
    def icon(self) -> str:
        return ICONS[self.severity]


def health_of(job: JobView) -> Health:
    """Judge one job.

    >>> health_of(JobView("1", "fraud", "running")).word, health_of(JobView("1", "fraud", "failed")).severity
    ('Running', 'bad')
    """
    severity = _STATES.get(job.state, "idle")
    unbalanced = [name for name, step in job.figures.steps.items() if step.balanced is False]
    if severity == "ok" and unbalanced:
        return Health("bad", "Rows lost", f"the row accounting of {', '.join(unbalanced)} does not balance")
    if severity == "ok" and job.warning:
        return Health("warn", "Degraded", job.warning)
    reason = job.error or "" if severity in ("bad", "warn") else _REASONS.get(job.state, "")
    if job.state == "draining" and job.figures.lag:
        reason += f" {count(job.figures.lag)} rows remain."
    return Health(severity, job.state.capitalize(), reason)


def by_urgency(jobs: Sequence[JobView]) -> list[JobView]:
    """Sort jobs: broken first, then degraded, healthy and ended ones; each group newest first."""
    return sorted(jobs, key=lambda job: (_ORDER.index(health_of(job).severity), -job.created))


def actions_of(state: str) -> tuple[str, ...]:
    """Return the verbs that a state allows.

    >>> actions_of("drained"), actions_of("running")
    (('clone', 'delete'), ('stop', 'drain', 'kill', 'restart', 'scale', 'clone'))
    """
    return tuple(verb for verb, states in _ACTIONS.items() if state in states)


def summary_of(jobs: Sequence[JobView]) -> Health:
    """Sum up all jobs in one sentence.

    >>> summary_of([JobView("1", "a", "running"), JobView("2", "b", "failed")]).reason
    '1 of 2 jobs has failed'
    >>> summary_of([JobView("1", "a", "running")]).reason
    'The one running job is healthy'
    """
    severities = [health_of(job).severity for job in jobs]
    bad, warn, running = (severities.count(severity) for severity in ("bad", "warn", "ok"))
    if bad:
        return Health("bad", "Broken", f"{bad} of {len(jobs)} jobs {'has' if bad == 1 else 'have'} failed")
    if warn:
        return Health(
            "warn", "Degraded", f"{warn} of {len(jobs)} jobs {'is' if warn == 1 else 'are'} degraded"
        )
    if not running:
        return Health("idle", "Idle", "No job is running")
    return Health(
        "ok",
        "Healthy",
        "The one running job is healthy" if running == 1 else f"All {running} running jobs are healthy",
    )
