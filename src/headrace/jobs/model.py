"""Jobs, their settings and their attempts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from headrace.connectors.base import Guarantee
from headrace.connectors.options import seconds_of
from headrace.durations import microseconds
from headrace.jobs.autoscaling import AutoscaleRule
from headrace.jobs.states import JobState
from headrace.runtime.options import ExecutionMode, RunOptions, Until
from headrace.spark.cluster import PARTITIONS, executor_settings


class JobSettings(BaseModel):
    """The settings of a job: the options of `headrace run`, a memory limit and the restart policy.

    >>> JobSettings(until="drained", memory="1g").restart_limit
    3
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    until: Until | None = Field(default=None, description="When the job ends; default: when it is stopped.")
    mode: ExecutionMode | None = Field(default=None, description="Execution mode; default: micro-batches.")
    every: str | None = Field(default=None, description="Interval between micro-batches.", max_length=100)
    guarantee: Guarantee | None = Field(default=None, description="Reject a plan that provides less.")
    master: str | None = Field(default=None, description="The Spark master; default: local.", max_length=500)
    memory: str | None = Field(
        default=None,
        pattern=r"^[1-9][0-9]{0,5}[mg]$",
        description="Memory of the driver, as 1g; default: Spark's.",
    )
    partitions: int | None = Field(
        default=None, ge=1, le=100_000, description="Partitions of the state; default: one per core."
    )
    executors: int | None = Field(
        default=None, ge=1, le=100_000, description="Executors, on a cluster; default: the cluster's."
    )
    autoscale: AutoscaleRule | None = Field(
        default=None, description="Scale the job by its lag, on a cluster; default: no."
    )
    conf: dict[str, str] = Field(default_factory=dict, description="Spark settings.")
    pipeline: str | None = Field(default=None, description="The pipeline, if the file builds several.")
    restart_limit: int = Field(default=3, ge=0, le=1000, description="Restarts after consecutive failures.")
    restart_backoff: str = Field(
        default="5 seconds", max_length=100, description="Delay before the first restart."
    )

    @model_validator(mode="after")
    def _check_settings(self) -> JobSettings:
        self.run_options(RunOptions())
        microseconds(self.restart_backoff, where="restart_backoff")
        return self

    def run_options(self, declared: RunOptions) -> RunOptions:
        """Return the options of a run: those that the file declares, overridden by these settings."""
        memory = {"spark.driver.memory": self.memory} if self.memory else {}
        executors, number = self.executors, self.partitions
        if self.autoscale is not None:
            executors = executors or self.autoscale.min_executors
            number = number or self.autoscale.partitions(executors)
        partitions = {PARTITIONS: str(number)} if number else {}
        sizes = partitions | executor_settings(executors, self.conf)
        chosen: dict[str, Any] = {
            name: value
            for name in ("until", "mode", "every", "guarantee", "master")
            if (value := getattr(self, name)) is not None
        }
        if chosen.get("until", "stopped") != "stopped":
            chosen.setdefault("every", None)  # a bounded run has no pace
        return replace(declared, **chosen, conf={**declared.conf, **memory, **self.conf, **sizes})

    @property
    def is_local(self) -> bool:
        """True if Spark runs inside the driver process."""
        return (self.master or self.conf.get("spark.master") or "local").startswith("local")

    @property
    def backoff_seconds(self) -> float:
        """The delay before the first restart."""
        return seconds_of(self.restart_backoff)


@dataclass(frozen=True)
class Job:
    """A submitted pipeline."""

    id: str
    name: str
    owner: str
    file: str
    """The pipeline file, relative to the directory of submitted files."""
    version: str
    """A hash of the submitted files."""
    directory: str | None
    """The working directory of the driver; None: the directory of submitted files."""
    settings: JobSettings = field(default_factory=JobSettings)
    state: JobState = JobState.SUBMITTED
    attempts: int = 0
    """Driver processes started so far."""
    restarts: int = 0
    """Attempts that the service started because an attempt failed."""
    failures: int = 0
    """Consecutive failures, which the restart limit is compared with."""
    pid: int | None = None
    error: str | None = None
    exit_reason: str | None = None
    next_start: float | None = None
    """The time of the next attempt, while the job waits to be restarted."""
    created: float = 0.0
    changed: float = 0.0


@dataclass(frozen=True)
class Attempt:
    """One driver process of a job."""

    job: str
    number: int
    started: float
    pid: int | None = None
    process_started: str | None = None
    """The start time of the process, which distinguishes it from a later one with the same pid."""
    ended: float | None = None
    exit_reason: str | None = None
    error: str | None = None
