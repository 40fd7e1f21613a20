"""Access of handlers to the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from headrace.jobs.service import JobService


def _service(request: Request) -> JobService:
    service: JobService = request.app.state.service
    return service


Service = Annotated[JobService, Depends(_service)]
JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a job.")]
