"""Access of handlers to the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from headrace.jobs.security.principals import Principal, Role
from headrace.jobs.service import JobService
from headrace.jobs.states import JobError


class ForbiddenError(JobError):
    """The role does not allow the request."""


def _service(request: Request) -> JobService:
    service: JobService = request.app.state.service
    return service


def _principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


def _admin(request: Request) -> Principal:
    principal = _principal(request)
    if principal.role is not Role.ADMIN:
        raise ForbiddenError(f"the role {principal.role} does not allow it", where="role")
    return principal


Sender = Annotated[Principal, Depends(_principal)]
Admin = Annotated[Principal, Depends(_admin)]
Service = Annotated[JobService, Depends(_service)]
JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a job.")]
