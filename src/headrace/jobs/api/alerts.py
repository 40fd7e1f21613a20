"""Alerts and silences."""

from __future__ import annotations

import time
from dataclasses import asdict

from fastapi import APIRouter
from pydantic import ValidationError

from headrace.errors import OptionError, validation_message
from headrace.jobs.api.access import ForbiddenError, Operator, Service, Viewer
from headrace.jobs.api.models import AlertModel, AlertRuleModel, SilenceModel, SilenceRequest
from headrace.jobs.states import ConflictError, NotFoundError
from headrace.metrics.alerts.rules import AlertRule, AlertSettings

router = APIRouter(prefix="/api/v1", tags=["alerts"])
MAX_RULES = 100
"""The number of rules that can be added; each is evaluated for every job, every second."""


@router.get("/alerts")
def list_alerts(service: Service, _: Viewer, job: str | None = None) -> list[AlertModel]:
    """List alerts, the newest first: of all jobs, or of one."""
    alerts = service.alerts.recent() if job is None else service.alerts.of(job)
    return [AlertModel(**alert.as_json()) for alert in alerts]


@router.get("/alert-rules")
def list_rules(service: Service, _: Viewer) -> list[AlertRuleModel]:
    """List the rules of alerts: those of the file of the service, then those that were added."""
    rules = [AlertRuleModel(rule=rule) for rule in service.alert_rules]
    added = [AlertRuleModel(rule=each.rule, id=each.id, owner=each.owner) for each in service.alerts.rules()]
    return [*rules, *added]


@router.post("/alert-rules", status_code=201)
def add_rule(rule: AlertRule, service: Service, sender: Operator) -> AlertRuleModel:
    """Add a rule of alerts, which is evaluated from the next second on."""
    added = service.alerts.rules()
    if len(added) >= MAX_RULES:
        what, hint = f"there are {MAX_RULES} rules already", "delete one that is not needed"
        raise ConflictError(what, where="alert-rules", hint=hint)
    rules = [*service.alert_rules, *(each.rule for each in added), rule]
    try:
        AlertSettings(rules=rules)
    except ValidationError as error:
        raise OptionError(
            validation_message(error.errors()[0]), where="rule", hint="set another `name`"
        ) from None
    stored = service.alerts.add_rule(rule, sender.name)
    return AlertRuleModel(rule=stored.rule, id=stored.id, owner=stored.owner)


@router.delete("/alert-rules/{rule}", status_code=204)
def delete_rule(rule: str, service: Service, sender: Operator) -> None:
    """Delete an own rule, admins also those of others; its alerts are resolved."""
    owner = next((each.owner for each in service.alerts.rules() if each.id == rule), None)
    if owner is not None and not sender.may_change(owner):
        raise ForbiddenError(f"only {owner} and admins may delete this rule", where="role")
    if not service.alerts.delete_rule(rule):
        raise NotFoundError(f"no rule that was added has the id {rule!r}", where="alert-rules")


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
