"""REST under `/api/v1`, and `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter

from headrace.jobs.api import (
    alerts,
    audit,
    jobs,
    live,
    metrics,
    sample_runs,
    side_outputs,
    system,
    upgrades,
    users,
)


def routers() -> list[APIRouter]:
    """Return the routers of the API."""
    modules = (jobs, upgrades, sample_runs, side_outputs, live, metrics, alerts, users, audit, system)
    return [module.router for module in modules]
