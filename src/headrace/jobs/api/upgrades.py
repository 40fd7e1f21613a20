"""Savepoints, upgrades and scaling of jobs."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from headrace.checkpoints.savepoints import list_savepoints
from headrace.jobs.api.access import Operator, OwnJob, Service, ViewedJob
from headrace.jobs.api.jobs import ERRORS, SUBMIT_BODY, read_submission
from headrace.jobs.api.models import Created
from headrace.jobs.autoscaling import AutoscaleRule
from headrace.jobs.upgrades import JobUpgrades

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], responses=ERRORS)


class SavepointRequest(BaseModel):
    """The name of a savepoint."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", description="The name of the savepoint.")


class ScaleRequest(BaseModel):
    """The numbers of state partitions and executors; a missing number is not changed."""

    model_config = ConfigDict(extra="forbid")

    partitions: int | None = Field(default=None, ge=1, le=100_000, description="Partitions of the state.")
    executors: int | None = Field(default=None, ge=1, le=100_000, description="Executors, on a cluster.")


class AutoscaleRequest(BaseModel):
    """The rule that scales a job by its lag."""

    model_config = ConfigDict(extra="forbid")

    rule: AutoscaleRule | None = Field(description="The rule; null removes it.")


class SavepointModel(BaseModel):
    """A savepoint of a job."""

    name: str
    created_at: str
    epochs: dict[str, int | None] = Field(description="The last epoch of each query.")
    effects: list[str] = Field(description="The effect on each sink of restoring it.")


class Upgraded(Created):
    """The id and the state of a job, and the savepoint of the state before the upgrade."""

    savepoint: str | None = Field(description="For `restore`; null if the job had no checkpoint.")


@router.post("/{job}/savepoint")
def savepoint(job: OwnJob, body: SavepointRequest, service: Service) -> Created:
    """Store checkpoint and files under a name; a running job is stopped gracefully and started again."""
    return Created.of(JobUpgrades(service).savepoint(job, body.name))


@router.get("/{job}/savepoints")
def savepoints(job: ViewedJob, service: Service) -> list[SavepointModel]:
    """List the savepoints of a job, oldest first."""
    upgrades = JobUpgrades(service)
    return [
        SavepointModel(
            name=each.name,
            created_at=each.created_at,
            epochs=each.epochs,
            effects=upgrades.restore_effects(job, each.name),
        )
        for each in list_savepoints(service.directory(job).checkpoint)
    ]


@router.post("/{job}/restore")
def restore(job: OwnJob, body: SavepointRequest, service: Service) -> Created:
    """Restore checkpoint and files of a savepoint, and start the job from there."""
    return Created.of(JobUpgrades(service).restore(job, body.name))


@router.post("/{job}/scale")
def scale(job: OwnJob, body: ScaleRequest, service: Service) -> Created:
    """Rewrite the state in another number of partitions; a running job is restarted gracefully."""
    scaled = JobUpgrades(service).scale(job, partitions=body.partitions, executors=body.executors)
    return Created.of(scaled)


@router.post("/{job}/autoscale")
def autoscale(job: OwnJob, body: AutoscaleRequest, service: Service) -> Created:
    """Set or remove the rule that scales the job by its lag; the job continues to run."""
    return Created.of(JobUpgrades(service).autoscale(job, body.rule))


@router.post("/{job}/upgrade", openapi_extra={"requestBody": SUBMIT_BODY})
async def upgrade(job: OwnJob, request: Request, service: Service, sender: Operator) -> Upgraded:
    """Replace the pipeline and start from the checkpoint; rejected if it needs a replay."""
    submission = replace(await read_submission(request), owner=sender.name)
    upgraded, saved = await run_in_threadpool(JobUpgrades(service).upgrade, job, submission)
    return Upgraded(id=upgraded.id, state=upgraded.state, savepoint=saved)
