"""REST under `/api/v1`, and `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter

from headrace.jobs.api import jobs, live, system


def routers() -> list[APIRouter]:
    """Return the routers of the API."""
    return [jobs.router, live.router, system.router]
