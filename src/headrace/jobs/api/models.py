"""Requests and responses of the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from headrace.jobs.model import Job, JobSettings
from headrace.jobs.states import JobState
from headrace.metrics.alerts.rules import AlertRule


class SubmitRequest(BaseModel):
    """A job as one JSON document; multipart requests carry files as well."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .@:+-]{0,99}$",
        description="Default: the name of the pipeline.",
    )
    document: str = Field(max_length=1 << 20, description="A YAML document.")
    directory: str | None = Field(
        default=None,
        max_length=4096,
        description="The working directory, for relative paths in the document.",
    )
    settings: JobSettings = Field(default_factory=JobSettings)


class Latency(BaseModel):
    """Percentiles, in milliseconds."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Metrics(BaseModel):
    """The metrics of a job at its last tick."""

    model_config = ConfigDict(extra="allow")

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    dead_letters: int = 0
    watermark: str | None = None
    lag: int | None = Field(default=None, description="Records that have not been read yet.")
    latency_ms: Latency = Field(default_factory=Latency, description="From ingestion to sink.")


class AlertModel(BaseModel):
    """One firing of a rule for a job."""

    id: str
    job: str
    rule: str
    state: str
    value: float
    message: str
    since: float
    resolved: float | None = None
    notified: bool = False


class SilenceRequest(BaseModel):
    """Suppresses notifications."""

    model_config = ConfigDict(extra="forbid")

    seconds: float = Field(gt=0, le=366 * 86_400, description="How long.")
    job: str | None = Field(default=None, max_length=100, description="The id of a job; default: all.")
    rule: str | None = Field(default=None, max_length=100, description="The name of a rule; default: all.")
    comment: str = Field(default="", max_length=1000)


class SilenceModel(BaseModel):
    """An active silence."""

    id: str
    until: float
    owner: str
    comment: str
    job: str | None
    rule: str | None


class JobSummary(BaseModel):
    """A job in a list."""

    id: str
    name: str
    owner: str
    state: JobState
    attempts: int
    restarts: int
    error: str | None
    created: float
    changed: float
    at: float | None = Field(default=None, description="The time of the last tick.")
    metrics: Metrics
    alerts: list[AlertModel] = Field(default_factory=list, description="The alerts that fire.")


class AlertRuleModel(BaseModel):
    """A rule of alerts; one of the file of the service has no id."""

    rule: AlertRule
    id: str | None = None
    owner: str | None = None


class AttemptModel(BaseModel):
    """One driver process."""

    number: int
    started: float
    pid: int | None
    ended: float | None
    exit_reason: str | None
    error: str | None


class JobDetail(JobSummary):
    """A job with its last tick."""

    model_config = ConfigDict(extra="allow")

    pid: int | None
    exit_reason: str | None
    version: str
    file: str
    phase: str = ""
    settings: dict[str, Any]
    history: list[AttemptModel] = Field(default_factory=list, description="The attempts, oldest first.")


class Created(BaseModel):
    """A job that a request has created or changed."""

    id: str
    state: JobState

    @classmethod
    def of(cls, job: Job) -> Created:
        """Return the id and the state of a job."""
        return cls(id=job.id, state=job.state)


class ErrorBody(BaseModel):
    """An error: problems with location and hint."""

    detail: str
    problems: list[dict[str, str]] = Field(default_factory=list)
