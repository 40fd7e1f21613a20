"""Judge jobs at a glance: severity, word and icon of each state, and the actions that a state allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.dashboard.feeds.base import JobFigures, JobView, Severity
from headrace.dashboard.formatting import count, counted, duration, milliseconds, number
from headrace.jobs.states import ENDED, JobState

MIN_LAG = 1000
"""The lag from which on a job can be behind; a smaller one is a batch."""
MAX_BACKLOG_SECONDS = 60.0
"""The backlog, in seconds of input, from which on a job is behind its sources."""
MAX_WATERMARK_SECONDS = 600.0
"""The watermark delay, beyond ten times the age of the rows, from which on something holds it back."""

MAX_LATENCY_MS = 60_000.0
"""The latency from which on a job is slow, if a step has no time left; pauses between batches leave time."""
BUSY = 0.9
"""The share of the time from which on a step has no time left."""
JUDGED_BY = (
    "Judged by failures, row accounting, lag, latency, and the watermark relative to the pace of the source."
)

ACTIVE = frozenset({"submitted", "starting", "stopping", "draining", "restarting"})
"""The states of jobs that have a driver, or get one, and read no rows by themselves."""
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
    if severity == "ok" and (reason := _behind(job.figures)):
        return Health("warn", "Behind", reason)
    reason = job.error or "" if severity in ("bad", "warn") else _REASONS.get(job.state, "")
    if job.state == "draining" and job.figures.lag:
        reason += f" {count(job.figures.lag)} rows remain."
    return Health(severity, job.state.capitalize(), reason)


def _behind(figures: JobFigures) -> str:
    """Return the reason why a running job is behind its sources; empty if it is not.

    >>> _behind(JobFigures(lag=60_000, rate_in=200.0))
    'the sources have 60 k rows that are not read: 5 min of input at the present rate'
    """
    backlog = (figures.lag or 0) / figures.rate_in if figures.rate_in else 0.0
    if (figures.lag or 0) >= MIN_LAG and backlog >= MAX_BACKLOG_SECONDS:
        rows = number(figures.lag, "rows")
        return f"the sources have {rows} that are not read: {duration(backlog)} of input at the present rate"
    name, busy = max(
        ((name, step.busy or 0.0) for name, step in figures.steps.items()), key=_share, default=("", 0.0)
    )
    if (figures.p99 or 0.0) >= MAX_LATENCY_MS and busy >= BUSY:
        return f"rows take {milliseconds(figures.p99)} (p99), and `{name}` is busy {busy:.0%} of the time"
    age = (figures.event_age or 0.0) / 1000
    delay = figures.watermark_delay or 0.0
    if figures.event_age is None or figures.replays or delay < MAX_WATERMARK_SECONDS + 10 * age:
        return ""
    slowest = f": {figures.slowest_partition}" if figures.slowest_partition else ""
    what = f"the watermark is {duration(delay)} behind the clock, although rows are {duration(age)} old"
    return f"{what}; a source or a partition holds it back{slowest}"


def _share(step: tuple[str, float]) -> float:
    return step[1]


def judged(job: JobView) -> str:
    """Return what the health of a running job is judged by, in one line.

    >>> judged(JobView("1", "fraud", "running", figures=JobFigures(lag=3, p99=18.0, late=2)))
    'lag 3 rows · p99 18 ms · 2 late · no restarts'
    """
    figures = job.figures
    old = "rows of a recording or a backfill" if figures.replays else ""
    delay = (
        ""
        if figures.watermark_delay is None or old
        else f"watermark delay {duration(figures.watermark_delay)}"
    )
    parts = [
        f"lag {number(figures.lag, 'rows')}"
        if figures.lag is not None
        else "lag not reported by the sources",
        f"p99 {milliseconds(figures.p99)}" if figures.p99 is not None else "",
        old or delay,
        f"{count(figures.late)} late" if figures.late else "",
        counted(figures.dead_letters, "dead letter") if figures.dead_letters else "",
        counted(job.restarts, "restart") if job.restarts else "no restarts",
    ]
    return " · ".join(filter(None, parts))


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
    >>> summary_of([JobView("1", "a", "draining"), JobView("2", "b", "stopped")]).reason
    '1 job is draining'
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
        active = [job for job in jobs if job.state in ACTIVE]
        return Health("idle", "Idle", _list_states(active) if active else "No job is running")
    return Health(
        "ok",
        "Healthy",
        "The one running job is healthy" if running == 1 else f"All {running} running jobs are healthy",
    )


def _list_states(jobs: Sequence[JobView]) -> str:
    """Return how many jobs are in which state."""
    states = list(dict.fromkeys(job.state for job in jobs))
    numbers = {state: sum(job.state == state for job in jobs) for state in states}
    return ", ".join(
        f"{counted(n, 'job')} {'is' if n == 1 else 'are'} {state}" for state, n in numbers.items()
    )
