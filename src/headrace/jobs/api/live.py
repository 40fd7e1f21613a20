"""Ticks as server-sent events."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from headrace.jobs.api.access import JobId, Service

router = APIRouter(prefix="/api/v1", tags=["live"])
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


@router.get("/jobs/{job}/live", response_class=StreamingResponse)
async def live_job(job: JobId, service: Service) -> StreamingResponse:
    """Stream the ticks of one job: one event `tick` per second, as `GET /api/v1/jobs/{job}` returns it."""
    service.get(job)
    stream = service.live.stream(job)
    return StreamingResponse(stream, media_type="text/event-stream", headers=_HEADERS)


@router.get("/live", response_class=StreamingResponse)
async def live_jobs(service: Service) -> StreamingResponse:
    """Stream the list of jobs: one event `tick` per second, with the document of `GET /api/v1/jobs`."""
    stream = service.live.stream()
    return StreamingResponse(stream, media_type="text/event-stream", headers=_HEADERS)
