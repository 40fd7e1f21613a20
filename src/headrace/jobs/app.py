"""The web application of the job service: REST, metrics and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from headrace.dashboard.feeds.service import ServiceFeed
from headrace.dashboard.pages import add_pages
from headrace.jobs.api import routers
from headrace.jobs.api.errors import add_error_handlers
from headrace.jobs.api.live import tick_hub
from headrace.jobs.api.users import LoginLimit
from headrace.jobs.live import StreamLimit
from headrace.jobs.security.guard import Guard
from headrace.jobs.service import JobService


def create_app(service: JobService) -> FastAPI:
    """Return the application of a service; the service starts and stops with it.

    REST is under `/api/v1`, OpenMetrics at `/metrics`, the pages at `/`. Handlers find the service in
    `request.app.state.service`.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.pause()

    public_url = service.policy.public_url
    app = FastAPI(
        title="Headrace",
        version="1",
        openapi_url="/api/v1/openapi.json",
        lifespan=lifespan,
        servers=None if public_url is None else [{"url": public_url}],
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.policy = service.policy
    app.state.owner_of = lambda job: service.get(job).owner
    streams = StreamLimit()
    app.state.ticks = tick_hub(service, streams)
    app.state.logins = LoginLimit()
    for router in routers():
        app.include_router(router)
    add_error_handlers(app)
    add_pages(app, ServiceFeed(service), streams)
    app.add_middleware(Guard, service=service, policy=service.policy)
    return app


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, without a service."""
    app = FastAPI(title="Headrace", version="1")
    for router in routers():
        app.include_router(router)
    return app.openapi()
