"""The HTTP server of the job service."""

from __future__ import annotations

import uvicorn

from headrace.jobs.app import create_app
from headrace.jobs.service import JobService

GRACE_SECONDS = 2
"""Open streams would otherwise keep the server from exiting."""


def run_server(service: JobService, *, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; the jobs go on."""
    uvicorn.run(
        create_app(service),
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
    )
