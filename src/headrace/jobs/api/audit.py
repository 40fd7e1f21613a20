"""The audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from headrace.jobs.api.access import Admin, Service
from headrace.jobs.security.audit import PAGE

router = APIRouter(prefix="/api/v1", tags=["users"])


class AuditEntry(BaseModel):
    """A request that changed something, or tried to."""

    at: float
    actor: str
    action: str
    job: str | None = Field(description="The id of the job.")
    outcome: str = Field(description="The status of the response.")


class AuditPage(BaseModel):
    """Entries of the audit log, the newest first."""

    entries: list[AuditEntry]
    next: float | None = Field(description="`before` of the next page; null on the last one.")
    refused: dict[str, int] = Field(
        description="Refused requests without a login since the service was started, by status."
    )


@router.get("/audit")
def list_audit(
    service: Service,
    _: Admin,
    before: Annotated[float | None, Query(ge=0, le=1e11, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = PAGE,
) -> AuditPage:
    """List changes, the newest first: time, actor, action, job and status; for admins."""
    entries, following = service.audit.page(before, limit)
    return AuditPage.model_validate({"entries": entries, "next": following, "refused": service.audit.refused})
