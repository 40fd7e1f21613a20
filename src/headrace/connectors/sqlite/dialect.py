"""What reading a SQLite database as a stream needs to know of it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from headrace.connectors.sql.dialect import Database
from headrace.connectors.sqlite.tables import affinity, quoted

_SPARK = {"INTEGER": "bigint", "REAL": "double", "NUMERIC": "double", "BLOB": "binary", "TEXT": "string"}
ROWID = "rowid"


@dataclass(frozen=True)
class SQLiteDialect:
    """Reads one database file."""

    path: str
    kind: ClassVar[str] = "sqlite"

    @property
    def place(self) -> str:
        return self.path

    def connect(self) -> Database:
        if not Path(self.path).exists():
            raise sqlite3.OperationalError("there is no such file")
        address = f"{Path(self.path).absolute().as_uri()}?mode=ro"
        # The query's thread asks, and the run's thread closes; never both at once.
        connection = sqlite3.connect(
            address, uri=True, timeout=30, isolation_level=None, check_same_thread=False
        )
        return _Session(connection)

    def columns(self, database: Database, table: str) -> dict[str, tuple[str, bool]]:
        found = {row[1]: (str(row[2]), False) for row in database.rows(f"PRAGMA table_info({quoted(table)})")}
        # Every ordinary table has it, though it isn't listed.
        return found and {**found, ROWID: found.get(ROWID, ("INTEGER", False))}

    def spark_type(self, declared: str) -> str:
        return _SPARK[affinity(declared)]

    def as_text(self, name: str, binary: bool) -> str:
        column = self.quoted(name)
        return f"CASE WHEN {column} IS NOT NULL THEN hex({column}) END" if binary else column

    def compared(self, declared: str, text: str) -> Any:
        if affinity(declared) == "BLOB":
            return int(text) if text.lstrip("-").isdigit() else text
        return text  # the column's affinity makes a number of it, if it is one

    def quoted(self, name: str) -> str:
        # Not in double quotes: SQLite takes an unknown name in those for a text.
        return "`" + name.replace("`", "``") + "`"

    def told(self, error: Exception) -> tuple[str, str] | None:
        if not isinstance(error, sqlite3.Error):
            return None
        hint = "another process holds a lock for long; end it" if "locked" in str(error) else ""
        return str(error), hint

    def lost(self, error: Exception) -> bool:
        return False


class _Session:
    """A connection that gives every value as text."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(_marked(statement, values), values).rowcount

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found = self._connection.execute(_marked(query, values), values)
        return [tuple(map(_text, row)) for row in found]

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        raise NotImplementedError("SQLite's sink has a protocol of its own")

    def close(self) -> None:
        self._connection.close()


def _marked(query: str, values: Sequence[Any]) -> str:
    """A query with SQLite's marks for its values; percent signs are as other clients want them."""
    return re.sub("%([%s])", lambda found: "?" if found[1] == "s" else "%", query) if values else query


def _text(value: Any) -> str | None:
    """Exact, which SQLite's own text of a float is not."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
