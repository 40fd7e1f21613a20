"""Authorisation: what a route requires of its sender; sender, job and service of handlers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Path, Request

from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import LOCAL, Principal, Role
from headrace.jobs.service import JobService
from headrace.jobs.states import JobError

JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a job.")]


class ForbiddenError(JobError):
    """The role does not allow the request."""


class Access(StrEnum):
    """The sender that a route requires. Every route declares it by one of the dependencies below."""

    OPEN = "open"
    """Everybody, without a login."""
    VIEWER = "viewer"
    """Every user."""
    ROWS = "rows"
    """Every user; on a service with private rows the owner of the job, and admins."""
    OPERATOR = "operator"
    """Operators and admins."""
    OWNER = "owner"
    """The owner of the job, if an operator, and admins."""
    ADMIN = "admin"


def sender_of(request: Request) -> Principal | None:
    """Return the sender, whom the guard has identified; None if anonymous. Without a guard it is local."""
    sender: Principal | None = getattr(request.state, "principal", LOCAL)
    return sender


@dataclass(frozen=True)
class Requires:
    """The dependency of routes that name no job: returns the sender."""

    access: Access

    async def __call__(self, request: Request) -> Principal:
        """Return the sender.

        Raises:
            ForbiddenError: the role does not allow it.
        """
        return _check(self.access, sender_of(request))


@dataclass(frozen=True)
class JobOf:
    """The dependency through which every handler gets the job that its path names: returns the id."""

    access: Access

    def __call__(self, job: JobId, request: Request) -> str:
        """Return the id of a job that exists.

        Raises:
            UnknownJobError: no job has this id.
            ForbiddenError: role or owner do not allow it.
        """
        _check(self.access, sender_of(request), request.app.state.owner_of(job), policy_of(request))
        return job


def may_read_rows(policy: Policy, sender: Principal, owner: str) -> bool:
    """True if a user may read rows, documents and logs of a job of this owner."""
    return not policy.private_rows or sender.role is Role.ADMIN or sender.name == owner


def policy_of(request: Request) -> Policy:
    """Return the access policy of the service."""
    policy: Policy = request.app.state.policy
    return policy


def _check(
    access: Access, sender: Principal | None, owner: str | None = None, policy: Policy | None = None
) -> Principal:
    if sender is None:
        if access is Access.OPEN:
            return Principal("", Role.VIEWER)
        raise ForbiddenError("log in, or send a token", where="role")
    if access is Access.ROWS and policy is not None and not may_read_rows(policy, sender, owner or ""):
        raise ForbiddenError(f"only {owner} and admins may read rows of this job", where="role")
    if (
        (access is Access.OPERATOR and not sender.may_submit)
        or (access is Access.OWNER and not sender.may_change(owner))
        or (access is Access.ADMIN and sender.role is not Role.ADMIN)
    ):
        raise ForbiddenError(f"the role {sender.role} does not allow it", where="role")
    return sender


def _service(request: Request) -> JobService:
    service: JobService = request.app.state.service
    return service


Service = Annotated[JobService, Depends(_service)]

Anyone = Annotated[Principal, Depends(Requires(Access.OPEN))]
Viewer = Annotated[Principal, Depends(Requires(Access.VIEWER))]
Operator = Annotated[Principal, Depends(Requires(Access.OPERATOR))]
Admin = Annotated[Principal, Depends(Requires(Access.ADMIN))]

ViewedJob = Annotated[str, Depends(JobOf(Access.VIEWER))]
JobWithRows = Annotated[str, Depends(JobOf(Access.ROWS))]
OwnJob = Annotated[str, Depends(JobOf(Access.OWNER))]
