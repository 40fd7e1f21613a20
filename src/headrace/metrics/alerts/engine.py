"""Alerts over time: pending, firing, resolved; grouped by job, silenced on request."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.metrics.alerts.conditions import COUNTERS, Finding, JobMemory, evaluate
from headrace.metrics.alerts.notify import Notification, Notifier
from headrace.metrics.alerts.rules import AlertRule, AlertSettings
from headrace.metrics.alerts.store import Alert, AlertStore
from headrace.metrics.history import History

_Key = tuple[str, str]


@dataclass
class _Group:
    """Changes of one job that wait for their notification."""

    since: float
    alerts: dict[str, Alert]


class AlertEngine:
    """Evaluates the rules on every tick and notifies the channels."""

    def __init__(
        self, settings: AlertSettings, store: AlertStore, notifiers: Iterable[Notifier], history: History
    ) -> None:
        self._settings = settings
        self._store = store
        self._history = history
        self._notifiers = list(notifiers)
        self._memories: dict[str, JobMemory] = {}
        self._pending: dict[_Key, float] = {}
        self._groups: dict[str, _Group] = {}
        self._firing = {(alert.job, alert.rule): alert for alert in store.firing()}

    def evaluate(self, jobs: Iterable[Mapping[str, Any]], now: float | None = None) -> None:
        """Evaluate every rule for every job, then send the notifications that are due."""
        at = time.time() if now is None else now
        names = {}
        for job in jobs:
            names[job["id"]] = job["name"]
            if job["id"] not in self._memories:
                self._memories[job["id"]] = self._restore_memory(job, at)
            memory = self._memories[job["id"]]
            for rule in self._settings.rules:
                if rule.job in (None, job["name"]):
                    self._update(rule, job["id"], evaluate(rule, job, memory, at), at)
        self._remove_deleted(names)
        self._queue_notifications(at)
        self._send(names, at)

    def firing(self) -> list[Alert]:
        """Return the alerts that fire now."""
        return list(self._firing.values())

    def _restore_memory(self, job: Mapping[str, Any], at: float) -> JobMemory:
        """Return a memory with the counters of an earlier service, whose old counts must not fire again."""
        memory = JobMemory()
        for rule in self._settings.rules:
            if (name := COUNTERS.get(rule.alert)) is not None:
                since, changed = at - rule.period, job.get("changed", at)
                past = self._history.counter(job["id"], name, since)
                if not past and changed < since:  # it ended before the period, without a sample
                    past = [(changed, float(job["metrics"].get(name) or 0))]
                memory.counters[rule.label] = deque(past)
        return memory

    def _update(self, rule: AlertRule, job: str, finding: Finding, at: float) -> None:
        key = (job, rule.label)
        firing = self._firing.get(key)
        if finding.message is None:
            self._pending.pop(key, None)
            if firing is not None:
                self._resolve(key, firing, at)
            return
        since = self._pending.setdefault(key, at)
        if firing is not None:
            self._refresh(key, firing, finding.value, finding.message)
        elif at - since >= rule.seconds:
            alert = Alert(
                secrets.token_hex(6), job, rule.label, "firing", finding.value, finding.message, since
            )
            self._firing[key] = self._store.save(alert)

    def _refresh(self, key: _Key, alert: Alert, value: float, message: str) -> None:
        """Replace value and text of a firing alert, also in a notification that has not been sent."""
        if (value, message) == (alert.value, alert.message):
            return
        self._firing[key] = self._store.save(replace(alert, value=value, message=message))
        group = self._groups.get(alert.job)
        if group is not None and alert.id in group.alerts:
            group.alerts[alert.id] = replace(group.alerts[alert.id], value=value, message=message)

    def _resolve(self, key: _Key, alert: Alert, at: float) -> None:
        resolved = self._store.save(replace(alert, state="resolved", resolved=at))
        del self._firing[key]
        if alert.notified:
            self._add_to_group(resolved, at)

    def _queue_notifications(self, at: float) -> None:
        for key, alert in self._firing.items():
            if not alert.notified and not self._store.is_silenced(alert, at):
                self._firing[key] = self._store.save(replace(alert, notified=1))
                self._add_to_group(alert, at)

    def _add_to_group(self, alert: Alert, at: float) -> None:
        group = self._groups.setdefault(alert.job, _Group(at, {}))
        group.alerts[alert.id] = alert

    def _send(self, names: Mapping[str, str], at: float) -> None:
        for job, group in list(self._groups.items()):
            if at - group.since >= self._settings.wait_seconds:
                del self._groups[job]
                notification = Notification(job, names.get(job, job), tuple(group.alerts.values()))
                for notifier in self._notifiers:
                    notifier.send(notification)

    def _remove_deleted(self, names: Mapping[str, str]) -> None:
        """Remove deleted jobs."""
        for job in self._memories.keys() - names.keys():
            del self._memories[job]
        for key in [key for key in self._firing if key[0] not in names]:
            del self._firing[key]
