"""Metrics: the present ones in OpenMetrics format, and their history."""

from __future__ import annotations

import resource
import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from headrace.jobs.api.access import Service, ViewedJob, Viewer
from headrace.metrics.grafana import dashboard
from headrace.metrics.openmetrics import CONTENT_TYPE, render

router = APIRouter(tags=["metrics"])
_STARTED = time.time()
_Time = Annotated[float | None, Query(ge=0, le=1e11)]


@router.get("/metrics", response_class=Response)
def metrics(service: Service, _: Viewer) -> Response:
    """Return the metrics of all jobs and of the service in OpenMetrics format."""
    snapshots = [service.snapshot(job) for job in service.jobs()]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    gauges = {
        "uptime_seconds": time.time() - _STARTED,
        "peak_memory_bytes": usage.ru_maxrss * 1024.0,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }
    return Response(render(snapshots, gauges, service.audit.refused), media_type=CONTENT_TYPE)


@router.get("/api/v1/grafana")
def grafana(_: Viewer) -> dict[str, Any]:
    """Return a Grafana dashboard for these metrics, to be imported."""
    return dashboard()


@router.get("/api/v1/jobs/{job}/history")
def history(
    job: ViewedJob,
    service: Service,
    since: _Time = None,
    until: _Time = None,
    points: Annotated[int, Query(ge=1, le=10_000)] = 500,
) -> list[dict[str, Any]]:
    """Return samples of a job's metrics in time order; default: the last 15 minutes."""
    end = time.time() if until is None else until
    start = end - 900 if since is None else since
    return service.history.read(job, start, end, points)
