"""Health and versions of the service."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter

from headrace.jobs.api.access import Anyone, Service

router = APIRouter(tags=["system"])


@router.get("/api/v1/health")
def health(service: Service, _: Anyone) -> dict[str, Any]:
    """Return the status of the service and its number of jobs."""
    jobs = service.jobs()
    return {
        "status": "ok",
        "version": version("headrace"),
        "jobs": len(jobs),
        "active": sum(job.state.active for job in jobs),
    }
