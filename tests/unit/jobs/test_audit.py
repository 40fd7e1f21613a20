"""The audit log: pages, retention, and counts of anonymous requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.jobs.security.audit import AuditLog
from headrace.jobs.store.database import Database
from headrace.jobs.store.schema import create_tables


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(str(tmp_path / "jobs.db"))
    create_tables(database)
    yield database
    database.close()


def test_pages_have_every_entry_once_the_newest_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000.0)  # even at the same time
    log = AuditLog(database)
    for number in range(25):
        log.record("ada", f"POST /{number}", None, "200")
    actions, before = [], None
    for size in (10, 10, 5):
        entries, before = log.page(before, 10)
        assert len(entries) == size
        actions += [entry["action"] for entry in entries]
    assert before is None
    assert actions == [f"POST /{number}" for number in reversed(range(25))]


def test_a_new_service_continues_after_the_last_entry(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    AuditLog(database).record("ada", "POST /first", None, "200")
    monkeypatch.setattr(time, "time", lambda: 1_000.0)  # the clock was set back
    log = AuditLog(database)
    log.record("ada", "POST /second", None, "200")
    assert [entry["action"] for entry in log.page()[0]] == ["POST /second", "POST /first"]


def test_entries_are_deleted_after_their_retention(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, now = AuditLog(database, days=90), time.time()
    for days in (100, 89, 0):
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        log._last = 0.0
        log.record("ada", f"POST /{days}", None, "200")
    log.clean()
    assert [entry["action"] for entry in log.page()[0]] == ["POST /0", "POST /89"]


def test_control_characters_of_an_action_are_escaped(database: Database) -> None:
    log = AuditLog(database)
    log.record("ada", "POST /kill\n\x00\x1b[31m\u2028é", "0123456789ab", "400")
    assert log.page()[0][0]["action"] == "POST /kill%0A%00%1B[31m%2028é"


def test_refused_requests_are_counted_by_status(database: Database) -> None:
    log = AuditLog(database)
    for status in (401, 401, 400):
        log.count_refused(status)
    assert log.refused == {"400": 1, "401": 2}
    assert log.page() == ([], None)
