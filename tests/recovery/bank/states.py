"""Records every state that the tables of a sink show, by triggers in the database.

The last statement of a commit writes the ledger row of the epoch. A trigger on it stores the total of the sink's
table in the same transaction, so that exactly the committed states are recorded.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.connectors.sql.dialect import LEDGER
from headrace.connectors.sqlite.dialect import SQLiteDialect

_STATES = "CREATE TABLE states (sink text, epoch bigint, total bigint, number bigint)"
_COLUMNS = "account, balance, window_start, window_end, pane_index, pane_timing, pane_retraction"


@dataclass(frozen=True)
class State:
    """A state that a sink has shown."""

    sink: str
    epoch: int
    total: int
    """The sum of all balances."""
    rows: int


def record_in_sqlite(file: Path, sinks: Sequence[str]) -> None:
    """Let a new database record its states; a trigger needs the tables, which have columns of any type."""
    with closing(sqlite3.connect(file)) as database:
        for statement in (*SQLiteDialect(str(file)).create_ledger(), _STATES):
            database.execute(statement)
        for sink in sinks:
            database.execute(f"CREATE TABLE {sink} ({_COLUMNS})")
            database.execute(
                f"CREATE TRIGGER record_{sink} AFTER INSERT ON {LEDGER} WHEN NEW.sink = '{sink}' BEGIN "
                "INSERT INTO states SELECT NEW.sink, NEW.epoch, coalesce(sum(balance), 0), count(*) "
                f"FROM {sink}; END"
            )


def record_in_postgres(server: Any, dialect: Any) -> None:
    """Let an empty PostgreSQL database record its states."""
    for statement in (*dialect.create_ledger(), _STATES):
        server.sql(statement)
    server.sql(
        "CREATE FUNCTION record_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format("
        "'INSERT INTO states SELECT %L, %s, coalesce(sum(balance), 0), count(*) FROM %I', "
        "NEW.sink, NEW.epoch, NEW.sink); RETURN NEW; END $$"
    )
    server.sql(f"CREATE TRIGGER record AFTER INSERT ON {LEDGER} FOR EACH ROW EXECUTE FUNCTION record_state()")


def read_sqlite(file: Path) -> list[State]:
    """Return the states that a database has recorded."""
    with closing(sqlite3.connect(file)) as database:
        return [State(*row) for row in database.execute("SELECT * FROM states")]


def impossible(states: Sequence[State]) -> list[State]:
    """Return the states whose balances do not add up to 0."""
    return [state for state in states if state.total != 0]
