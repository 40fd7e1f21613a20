"""REST under `/api/v1`, and `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter

from headrace.jobs.api import alerts, jobs, live, metrics, system, users


def routers() -> list[APIRouter]:
    """Return the routers of the API."""
    return [jobs.router, live.router, metrics.router, alerts.router, users.router, system.router]
