"""Alerts over time: pending, firing, resolved; grouped by job, silenced on request."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from headrace.metrics.alerts.conditions import COUNTERS, Finding, JobMemory, evaluate
from headrace.metrics.alerts.notify import Notification, Notifier
from headrace.metrics.alerts.rules import AlertRule, AlertSettings
from headrace.metrics.alerts.store import RESOLUTION_NOT_SENT, SENT, Alert, AlertStore
from headrace.metrics.history import History

_Key = tuple[str, str]


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
        self._since: dict[str, float] = {}
        """The times since which changes of jobs wait for their notification."""
        self._rules: tuple[AlertRule, ...] = tuple(settings.rules)
        self._firing = {(alert.job, alert.rule): alert for alert in store.firing()}
        self._resolved = {alert.id: alert for alert in store.resolutions_not_sent()}

    def evaluate(self, jobs: Iterable[Mapping[str, Any]], now: float | None = None) -> None:
        """Evaluate every rule for every job, then send the notifications that are due."""
        at = time.time() if now is None else now
        names = {}
        self._rules = (*self._settings.rules, *(each.rule for each in self._store.rules()))
        for job in jobs:
            names[job["id"]] = job["name"]
            if job["id"] not in self._memories:
                self._memories[job["id"]] = self._restore_memory(job, at)
            memory = self._memories[job["id"]]
            for rule in self._rules:
                if rule.job in (None, job["name"]):
                    self._update(rule, job["id"], evaluate(rule, job, memory, at), at)
        self._resolve_deleted(at)
        self._remove_deleted(names)
        self._notify(names, at)

    def firing(self) -> list[Alert]:
        """Return the alerts that fire now."""
        return list(self._firing.values())

    def _restore_memory(self, job: Mapping[str, Any], at: float) -> JobMemory:
        """Return a memory with the counters of an earlier service, whose old counts must not fire again."""
        memory = JobMemory()
        for rule in self._rules:
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
        """Replace value and text of a firing alert."""
        if (value, message) != (alert.value, alert.message):
            self._firing[key] = self._store.save(replace(alert, value=value, message=message))

    def _resolve(self, key: _Key, alert: Alert, at: float) -> None:
        """Store the end of an alert; it is notified unless a silence held the alert itself back."""
        due = alert.notified or not self._store.is_silenced(alert, at)
        notified = RESOLUTION_NOT_SENT if due else alert.notified
        resolved = self._store.save(replace(alert, state="resolved", resolved=at, notified=notified))
        del self._firing[key]
        if due:
            self._resolved[alert.id] = resolved

    def _resolve_deleted(self, at: float) -> None:
        """Resolve the alerts of rules that were deleted."""
        labels = {rule.label for rule in self._rules}
        for key, alert in list(self._firing.items()):
            if alert.rule not in labels:
                self._resolve(key, alert, at)

    def _notify(self, names: Mapping[str, str], at: float) -> None:
        """Send the changes of each job that have waited for others; a silence holds them back."""
        due = self._list_due(at)
        self._since = {job: self._since.get(job, at) for job in due}
        for job, alerts in due.items():
            if at - self._since[job] >= self._settings.wait_seconds:
                del self._since[job]
                self._send(Notification(job, names[job], tuple(alerts)))

    def _list_due(self, at: float) -> dict[str, list[Alert]]:
        """Return the changes of each job that have not been sent and are not silenced."""
        unsent = [alert for alert in self._firing.values() if not alert.notified]
        due: dict[str, list[Alert]] = {}
        for alert in (*self._resolved.values(), *unsent):
            if not self._store.is_silenced(alert, at):
                due.setdefault(alert.job, []).append(alert)
        return due

    def _send(self, notification: Notification) -> None:
        """Send a notification, then store that it was sent; after a crash in between it is sent again."""
        for notifier in self._notifiers:
            notifier.send(notification)
        for alert in notification.alerts:
            sent = self._store.save(replace(alert, notified=SENT))
            if self._resolved.pop(alert.id, None) is None:
                self._firing[alert.job, alert.rule] = sent

    def _remove_deleted(self, names: Mapping[str, str]) -> None:
        """Remove deleted jobs."""
        for job in self._memories.keys() - names.keys():
            del self._memories[job]
        for key in [key for key in self._firing if key[0] not in names]:
            del self._firing[key]
        self._resolved = {each: alert for each, alert in self._resolved.items() if alert.job in names}
