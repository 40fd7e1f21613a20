"""The audit log: changes by users, with retention and pages; refused anonymous requests are only counted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

from headrace.jobs.store.database import Database

DAYS = 90
PAGE = 100
_DAY_SECONDS = 86_400.0
_STEP = 1e-5
"""Seconds between entries: the time of an entry identifies it, as a cursor."""


class AuditLog:
    """The entries in the store. Anonymous senders cannot add any, so they cannot fill it."""

    def __init__(self, database: Database, days: float = DAYS) -> None:
        """Keep entries for `days`."""
        self._database = database
        self._seconds = days * _DAY_SECONDS
        self._lock = threading.Lock()
        self._last = float(database.rows("SELECT MAX(at) AS at FROM audit")[0]["at"] or 0)
        self._refused: Counter[str] = Counter()

    def record(self, actor: str, action: str, job: str | None, outcome: str) -> None:
        """Add an entry; control characters of the action are escaped."""
        with self._lock:
            self._last = at = max(time.time(), self._last + _STEP)
        written = "".join(char if char.isprintable() else f"%{ord(char):02X}" for char in action)
        statement = "INSERT INTO audit (at, actor, action, job, outcome) VALUES (?, ?, ?, ?, ?)"
        self._database.execute(statement, (at, actor, written, job, outcome))

    def count_refused(self, status: int) -> None:
        """Count a refused request of an anonymous sender."""
        with self._lock:
            self._refused[str(status)] += 1

    @property
    def refused(self) -> dict[str, int]:
        """The refused requests of anonymous senders since the service was started, by status."""
        with self._lock:
            return dict(sorted(self._refused.items()))

    def page(
        self, before: float | None = None, limit: int = PAGE
    ) -> tuple[list[dict[str, Any]], float | None]:
        """Return entries before a time, the newest first, and the `before` of the next page, if any."""
        query = "SELECT at, actor, action, job, outcome FROM audit WHERE at < ? ORDER BY at DESC LIMIT ?"
        entries = self._database.rows(query, (1e12 if before is None else before, limit + 1))
        shown = entries[:limit]
        return shown, shown[-1]["at"] if len(entries) > limit else None

    def of(self, job: str, limit: int = PAGE) -> list[dict[str, Any]]:
        """Return the last entries about a job, the newest first."""
        query = "SELECT at, actor, action, job, outcome FROM audit WHERE job = ? ORDER BY at DESC LIMIT ?"
        return self._database.rows(query, (job, limit))

    def clean(self) -> None:
        """Delete entries that are older than the retention."""
        self._database.execute("DELETE FROM audit WHERE at < ?", (time.time() - self._seconds,))
