"""Ticks as server-sent events."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from headrace.jobs.api.access import ViewedJob, Viewer
from headrace.jobs.api.models import JobSummary
from headrace.jobs.live import Hub, StreamLimit
from headrace.jobs.service import JobService
from headrace.jobs.states import UnknownJobError

router = APIRouter(prefix="/api/v1", tags=["live"])
_ALL = "jobs"
"""The topic of the list of jobs; other topics are ids of jobs."""


def tick_hub(service: JobService, limit: StreamLimit) -> Hub:
    """Return the streams of the ticks of a service."""
    return Hub(lambda topic: _message(service, topic), limit=limit)


@router.get("/jobs/{job}/live", response_class=StreamingResponse)
async def live_job(job: ViewedJob, request: Request, sender: Viewer) -> StreamingResponse:
    """Stream the ticks of one job: one event `tick` per second, as `GET /api/v1/jobs/{job}` returns it."""
    hub: Hub = request.app.state.ticks
    return hub.response(job, sender.name)


@router.get("/live", response_class=StreamingResponse)
async def live_jobs(request: Request, sender: Viewer) -> StreamingResponse:
    """Stream the list of jobs: one event `tick` per second, with the document of `GET /api/v1/jobs`."""
    hub: Hub = request.app.state.ticks
    return hub.response(_ALL, sender.name)


def _message(service: JobService, topic: str) -> Any:
    """Return the tick of a job, or of all jobs; None if the job was deleted."""
    if topic == _ALL:
        snapshots = [service.snapshot(job) for job in service.jobs()]
        return [{key: snapshot.get(key) for key in JobSummary.model_fields} for snapshot in snapshots]
    try:
        return service.snapshot(service.get(topic))
    except UnknownJobError:
        return None
