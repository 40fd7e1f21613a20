"""The tables of the store; the statements run on SQLite and PostgreSQL."""

from __future__ import annotations

from headrace.errors import OptionError
from headrace.jobs.store.database import Database

VERSION = 1

_TABLES = (
    """CREATE TABLE IF NOT EXISTS headrace_schema (version INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS jobs (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL, file TEXT NOT NULL,
        version TEXT NOT NULL, directory TEXT, settings TEXT NOT NULL, state TEXT NOT NULL,
        attempts INTEGER NOT NULL, restarts INTEGER NOT NULL, failures INTEGER NOT NULL, pid BIGINT,
        error TEXT, exit_reason TEXT, next_start DOUBLE PRECISION, created DOUBLE PRECISION NOT NULL,
        changed DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS attempts (
        job TEXT NOT NULL, number INTEGER NOT NULL, started DOUBLE PRECISION NOT NULL, pid BIGINT,
        process_started TEXT, ended DOUBLE PRECISION, exit_reason TEXT, error TEXT,
        PRIMARY KEY (job, number))""",
    """CREATE TABLE IF NOT EXISTS transitions (
        job TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        reason TEXT NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS transitions_of_job ON transitions (job, at)""",
    """CREATE TABLE IF NOT EXISTS samples (
        job TEXT NOT NULL, resolution INTEGER NOT NULL, at BIGINT NOT NULL, document TEXT NOT NULL,
        PRIMARY KEY (job, resolution, at))""",
    """CREATE TABLE IF NOT EXISTS alerts (
        id TEXT PRIMARY KEY, job TEXT NOT NULL, rule TEXT NOT NULL, state TEXT NOT NULL,
        value DOUBLE PRECISION, message TEXT NOT NULL, since DOUBLE PRECISION NOT NULL,
        resolved DOUBLE PRECISION, notified INTEGER NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS alerts_of_job ON alerts (job, since)""",
    """CREATE TABLE IF NOT EXISTS silences (
        id TEXT PRIMARY KEY, job TEXT, rule TEXT, until DOUBLE PRECISION NOT NULL, owner TEXT NOT NULL,
        comment TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS alert_rules (
        id TEXT PRIMARY KEY, owner TEXT NOT NULL, created DOUBLE PRECISION NOT NULL,
        document TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS users (
        name TEXT PRIMARY KEY, role TEXT NOT NULL, secret TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS tokens (
        digest TEXT PRIMARY KEY, owner TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION)""",
    """CREATE TABLE IF NOT EXISTS audit (
        at DOUBLE PRECISION NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, job TEXT,
        outcome TEXT NOT NULL)""",
)


def create_tables(database: Database) -> None:
    """Create the tables that are missing.

    Raises:
        OptionError: a later version of Headrace has written the store.
    """
    with database.transaction():
        for statement in _TABLES:
            database.execute(statement)
        versions = [row["version"] for row in database.rows("SELECT version FROM headrace_schema")]
        if not versions:
            database.execute("INSERT INTO headrace_schema (version) VALUES (?)", (VERSION,))
        elif max(versions) > VERSION:
            what = f"the store has version {max(versions)}, this Headrace reads up to {VERSION}"
            raise OptionError(
                what, where="store", hint="use the Headrace that has written it, or a new store"
            )
