"""Alerts and silences in the store."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, dataclass
from typing import Any

from headrace.jobs.store.database import Database
from headrace.metrics.alerts.rules import AlertRule

SENT = 1
RESOLUTION_NOT_SENT = 2


@dataclass(frozen=True)
class Alert:
    """One firing of a rule for a job."""

    id: str
    job: str
    rule: str
    state: str
    """`firing` or `resolved`."""
    value: float
    message: str
    since: float
    resolved: float | None = None
    notified: int = 0
    """`SENT` if its last change was notified, `RESOLUTION_NOT_SENT` until its end is; otherwise 0."""

    def as_json(self) -> dict[str, Any]:
        """Return the alert as programs read it, with `notified` 1 if a change of it was or will be sent."""
        return asdict(self) | {"notified": int(self.notified > 0)}


@dataclass(frozen=True)
class Silence:
    """Suppresses the notifications of a job, of a rule, or of a rule for a job."""

    id: str
    until: float
    owner: str
    comment: str = ""
    job: str | None = None
    rule: str | None = None

    def covers(self, alert: Alert, at: float) -> bool:
        """True if the silence suppresses the notification of an alert."""
        return at < self.until and self.job in (None, alert.job) and self.rule in (None, alert.rule)


@dataclass(frozen=True)
class StoredRule:
    """A rule that was added while the service runs."""

    id: str
    owner: str
    created: float
    rule: AlertRule


class AlertStore:
    """Reads and writes alerts and silences."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, alert: Alert) -> Alert:
        """Insert an alert, or replace it."""
        self._replace("alerts", asdict(alert))
        return alert

    def firing(self) -> list[Alert]:
        """Return the alerts that fire."""
        rows = self._database.rows("SELECT * FROM alerts WHERE state = 'firing'")
        return [Alert(**row) for row in rows]

    def resolutions_not_sent(self) -> list[Alert]:
        """Return the resolved alerts whose end has to be notified, in the order of their ends."""
        query = "SELECT * FROM alerts WHERE state = 'resolved' AND notified = ? ORDER BY resolved"
        return [Alert(**row) for row in self._database.rows(query, (RESOLUTION_NOT_SENT,))]

    def of(self, job: str) -> list[Alert]:
        """Return the alerts of a job, the newest first."""
        query = "SELECT * FROM alerts WHERE job = ? ORDER BY since DESC"
        return [Alert(**row) for row in self._database.rows(query, (job,))]

    def recent(self, limit: int = 200) -> list[Alert]:
        """Return the last alerts of all jobs, the newest first."""
        query = f"SELECT * FROM alerts ORDER BY since DESC LIMIT {int(limit)}"
        return [Alert(**row) for row in self._database.rows(query)]

    def rules(self) -> list[StoredRule]:
        """Return the rules that were added, the oldest first."""
        rows = self._database.rows("SELECT * FROM alert_rules ORDER BY created")
        return [
            StoredRule(
                row["id"], row["owner"], row["created"], AlertRule.model_validate_json(row["document"])
            )
            for row in rows
        ]

    def add_rule(self, rule: AlertRule, owner: str) -> StoredRule:
        """Add a rule."""
        stored = StoredRule(secrets.token_hex(6), owner, time.time(), rule)
        document = rule.model_dump_json(by_alias=True)
        self._replace(
            "alert_rules", {"id": stored.id, "owner": owner, "created": stored.created, "document": document}
        )
        return stored

    def delete_rule(self, rule: str) -> bool:
        """Delete a rule; return False if there is none of this id."""
        return self._database.execute("DELETE FROM alert_rules WHERE id = ?", (rule,)) == 1

    def silence(self, until: float, owner: str, comment: str, job: str | None, rule: str | None) -> Silence:
        """Add a silence."""
        silence = Silence(secrets.token_hex(6), until, owner, comment, job, rule)
        self._replace("silences", asdict(silence))
        return silence

    def silences(self, now: float) -> list[Silence]:
        """Return the active silences."""
        query = "SELECT * FROM silences WHERE until > ? ORDER BY until"
        return [Silence(**row) for row in self._database.rows(query, (now,))]

    def end_silence(self, silence: str) -> bool:
        """Delete a silence; return False if there is none of this id."""
        return self._database.execute("DELETE FROM silences WHERE id = ?", (silence,)) == 1

    def is_silenced(self, alert: Alert, now: float) -> bool:
        """True if a silence suppresses the notification of an alert."""
        return any(silence.covers(alert, now) for silence in self.silences(now))

    def _replace(self, table: str, row: dict[str, Any]) -> None:
        names, marks = ", ".join(row), ", ".join("?" for _ in row)
        with self._database.transaction():
            self._database.execute(f"DELETE FROM {table} WHERE id = ?", (row["id"],))
            statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
            self._database.execute(statement, list(row.values()))
