"""The data that the pages show, and the protocol of its source: the job service, or simulated jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from headrace.checkpoints.comparison import Comparison
from headrace.jobs.model import Attempt
from headrace.jobs.security.policy import Policy

Severity = Literal["ok", "warn", "bad", "idle"]


@dataclass(frozen=True)
class StepFigures:
    """The figures of one step of a running job; None: not measured."""

    rows_in: int | None = None
    rows_out: int | None = None
    rate_in: float | None = None
    rate_out: float | None = None
    late: int = 0
    dead_letters: int = 0
    busy: float | None = None
    """The share of the time in which the query of the step was processing a batch, 0 to 1."""
    state_rows: int | None = None
    state_bytes: int | None = None
    watermark: str | None = None
    lag: int | None = None
    accounting: Mapping[str, int] = field(default_factory=dict)
    """The terms of the row accounting, by name."""
    balanced: bool | None = None
    violated: Mapping[str, int] = field(default_factory=dict)
    """The rows that violate each rule of an expectation."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """The rules in force and their versions, of a step that reads its patterns from a table."""
    faults: Sequence[str] = ()
    """The faults of the rule table."""
    reception: Mapping[str, int] = field(default_factory=dict)
    """The messages of a source with a write-ahead log: received, stored, dropped and others."""
    ledger_epoch: int | None = None
    """The epoch last committed in the ledger of a sink, or -1; None if it has no ledger."""
    partitions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The records that were read and the lag of each partition of a source, by name."""


_OLD_MS = 86_400_000
"""Rows of more than a day ago are not the present ones of a source."""


@dataclass(frozen=True)
class JobFigures:
    """The figures of a job; None: not measured."""

    rate_in: float | None = None
    p99: float | None = None
    """End-to-end latency in milliseconds."""
    lag: int | None = None
    watermark: str | None = None
    watermark_delay: float | None = None
    """Seconds between the clock and the watermark."""
    event_age: float | None = None
    """The median age of the rows when they were read, in the last minute, in milliseconds."""
    late: int = 0
    dead_letters: int = 0
    state_rows: int | None = None
    state_bytes: int | None = None
    steps: Mapping[str, StepFigures] = field(default_factory=dict)
    out_of_order: Sequence[tuple[int, int]] = ()
    """Rows by how far they are out of order: upper bounds of buckets in milliseconds, and counts."""
    recommended_ms: int | None = None
    """The `out_of_order` within which 99.9 % of the rows arrive."""
    slowest_partition: str = ""
    """The partition that determines the watermark, if a source has several."""

    @property
    def replays(self) -> bool:
        """True if rows are old when they are read: a recording or a backfill, not a job that is behind."""
        return self.event_age is not None and self.event_age >= _OLD_MS


@dataclass(frozen=True)
class JobView:
    """A job as the pages show it. Times are seconds since 1970."""

    id: str
    name: str
    state: str
    owner: str = ""
    file: str = ""
    created: float = 0.0
    changed: float = 0.0
    restarts: int = 0
    error: str | None = None
    figures: JobFigures = field(default_factory=JobFigures)
    warning: str = ""
    """The text of the most severe alert that fires for the job."""
    warned: float = 0.0
    """The time at which that alert began to fire."""
    recent: Sequence[float | None] = ()
    """Rows per second over the last 15 minutes, oldest first."""


@dataclass(frozen=True)
class ScalingView:
    """The rule that scales a job by its lag, in words, and the changes of its size, newest first."""

    rule: str
    executors: int | None
    changes: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class AlertView:
    """One alert: firing until `resolved` is set."""

    rule: str
    job: str
    job_name: str
    severity: Severity
    text: str
    since: float
    resolved: float | None = None
    silenced: bool = False


@dataclass(frozen=True)
class EventView:
    """An event in the life of a job: a change of its state, a request of a user, a savepoint, an alert."""

    at: float
    what: str
    who: str = ""
    detail: str = ""
    severity: Severity = "idle"


@dataclass(frozen=True)
class RuleView:
    """A rule of alerts: its name, the condition in words, and the jobs that it watches."""

    name: str
    condition: str
    job: str = ""
    id: str = ""
    """The id of a rule that was added on the page; empty for those of the file."""
    owner: str = ""


@dataclass(frozen=True)
class UserView:
    """A user, or a token of one. Times are seconds since 1970."""

    name: str
    role: str
    created: float
    label: str = ""
    expires: float | None = None


@dataclass(frozen=True)
class AuditView:
    """A page of the audit log: time, actor, action, job and outcome of each entry, the newest first."""

    entries: Sequence[Mapping[str, Any]]
    older: float | None = None
    """The time before which the entries of the next page are; None on the last page."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Refused requests without a login, by status."""


@dataclass(frozen=True)
class ChartData:
    """Series over time, one column per name; `t` in seconds. Missing values are None."""

    columns: Mapping[str, Sequence[float | None]]
    marks: Sequence[tuple[float, str]] = ()
    """Restarts and deployments: time and label."""


class Feed(Protocol):
    """A source of the data for the pages. All calls are quick reads; they run on a worker thread."""

    @property
    def policy(self) -> Policy:
        """The access policy, which may restrict documents."""

    def jobs(self) -> Sequence[JobView]:
        """Return all jobs."""

    def job(self, job: str) -> JobView | None:
        """Return a job; None if there is none with this id."""

    def plan(self, job: str) -> dict[str, Any] | None:
        """Return the plan as `headrace explain --json` prints it; None before it is known."""

    def document(self, job: str) -> tuple[str, str]:
        """Return the name and the text of the submitted pipeline file."""

    def directory(self, job: str) -> str:
        """Return the directory that relative paths of the document refer to."""

    def history(self, job: str, seconds: float) -> ChartData:
        """Return the metrics of the last seconds."""

    def attempts(self, job: str) -> Sequence[Attempt]:
        """Return the attempts, newest first."""

    def scaling(self, job: str) -> ScalingView | None:
        """Return how a job is scaled; None for a job that never was, and has no rule."""

    def events(self, job: str) -> Sequence[EventView]:
        """Return what happened to a job and who requested it, newest first."""

    def log_file(self, job: str, attempt: int) -> Path:
        """Return the file with the output of an attempt."""

    def checkpoint(self, job: str) -> Path:
        """Return the checkpoint directory of a job."""

    def inquire(self, job: str, kind: str, step: str = "", key: str = "") -> Mapping[str, Any]:
        """Return the answer of the driver: the state of a key, `why`, or physical plans. This may be slow.

        Raises:
            HeadraceError: the job is not running, or there is no such step or key.
        """

    def alerts(self) -> Sequence[AlertView]:
        """Return firing and resolved alerts, newest first."""

    def rules(self) -> Sequence[RuleView]:
        """Return the rules of alerts."""

    def users(self) -> tuple[Sequence[UserView], Sequence[UserView]]:
        """Return the users, and the tokens in force."""

    def audit(self, before: float | None) -> AuditView:
        """Return the entries of the audit log before a time; default: the newest."""

    def compare(self, job: str, document: str) -> Comparison | None:
        """Compare a new version of a job's document with its checkpoint; None if there is none.

        Raises:
            HeadraceError: the document is wrong.
        """

    def test(self, document: str, rows: Mapping[str, str], directory: str | None) -> Mapping[str, Any]:
        """Run a document on sample rows and return the rows of its outputs. This may take a minute.

        Raises:
            HeadraceError: the document or a row is wrong, or the run failed.
        """

    def about(self) -> Mapping[str, str]:
        """Return facts about the service, such as its data directory."""
