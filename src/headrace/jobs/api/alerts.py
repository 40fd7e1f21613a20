"""Alerts and silences."""

from __future__ import annotations

import time
from dataclasses import asdict

from fastapi import APIRouter

from headrace.jobs.api.access import Operator, Service, Viewer
from headrace.jobs.api.models import AlertModel, SilenceModel, SilenceRequest
from headrace.jobs.states import NotFoundError

router = APIRouter(prefix="/api/v1", tags=["alerts"])


@router.get("/alerts")
def list_alerts(service: Service, _: Viewer, job: str | None = None) -> list[AlertModel]:
    """List alerts, the newest first: of all jobs, or of one."""
    alerts = service.alerts.recent() if job is None else service.alerts.of(job)
    return [AlertModel(**alert.as_json()) for alert in alerts]


@router.get("/silences")
def list_silences(service: Service, _: Viewer) -> list[SilenceModel]:
    """List the active silences."""
    return [SilenceModel(**asdict(silence)) for silence in service.alerts.silences(time.time())]


@router.post("/silences", status_code=201)
def add_silence(request: SilenceRequest, service: Service, sender: Operator) -> SilenceModel:
    """Suppress the notifications of a job, of a rule, or all notifications."""
    until = time.time() + request.seconds
    silence = service.alerts.silence(until, sender.name, request.comment, request.job, request.rule)
    return SilenceModel(**asdict(silence))


@router.delete("/silences/{silence}", status_code=204)
def end_silence(silence: str, service: Service, _: Operator) -> None:
    """End a silence."""
    if not service.alerts.end_silence(silence):
        raise NotFoundError(f"no silence has the id {silence!r}", where="silences")
