"""REST under `/api/v1`, and `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter

from headrace.jobs.api import alerts, jobs, live, metrics, system, upgrades, users


def routers() -> list[APIRouter]:
    """Return the routers of the API."""
    modules = (jobs, upgrades, live, metrics, alerts, users, system)
    return [module.router for module in modules]
