"""SQLite's dialect: column affinities, one writer at a time."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from headrace.connectors.sql.dialect import Dialect, Session
from headrace.connectors.sql.table import Table

_SPARK = {"INTEGER": "bigint", "REAL": "double", "NUMERIC": "double", "BLOB": "binary", "TEXT": "string"}
_CAST = {"INTEGER": "INTEGER", "REAL": "REAL", "NUMERIC": "REAL", "TEXT": "TEXT"}
_TYPES = {"double": "REAL", "float": "REAL", "binary": "BLOB"}
_INTEGERS = ("bigint", "int", "smallint", "tinyint", "boolean")
_HINTS = {
    "readonly": "make the file and its directory writable for this user",
    "full": "free some space, then run again: the epoch is written again",
    "locked": "another process holds a long transaction; end it",
    "unable to open": "does its directory exist, and may this user write there?",
    "not a database": "give the path of a SQLite database, or of a file that does not exist yet",
}


@dataclass(frozen=True)
class SQLiteDialect(Dialect):
    """The dialect of one database file."""

    path: str
    writes: bool = False
    kind: ClassVar[str] = "sqlite"
    hidden_columns: ClassVar[dict[str, str]] = {"rowid": "INTEGER"}
    failpoints: ClassVar[str] = "sqlite"
    begin: ClassVar[tuple[str, ...]] = ("BEGIN IMMEDIATE",)
    lock_rows: ClassVar[str] = ""
    ledger_time_type: ClassVar[str] = "text NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))"

    @property
    def address(self) -> str:
        return self.path

    def connect(self) -> Session:
        path = Path(self.path)
        if self.writes:
            path.parent.mkdir(parents=True, exist_ok=True)
            return FileSession(path)
        if not path.exists():
            raise sqlite3.OperationalError("the file does not exist")
        return _ReadSession(path)

    def columns(self, session: Session, table: str) -> dict[str, tuple[str, bool]]:
        rows = session.rows(f"PRAGMA table_info({self.quote(table)})")
        return {
            name: (str(declared), required == "1" and default is None)
            for _, name, declared, required, default, _ in rows
        }

    def tables(self, session: Session) -> list[str]:
        return [name for (name,) in session.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def spark_type(self, declared: str) -> str:
        return "string" if _is_time(declared) else _SPARK[affinity(declared)]

    def as_text(self, name: str, declared: str | None = None) -> str:
        column = self.quote(name)
        if declared is None:
            return column
        if self.spark_type(declared) == "binary":
            return f"CASE WHEN {column} IS NOT NULL THEN hex({column}) END"
        # A column may hold values of any type: the cast makes it one.
        return f"CAST({column} AS {'TEXT' if _is_time(declared) else _CAST[affinity(declared)]})"

    def parameter(self, declared: str, text: str) -> Any:
        if affinity(declared) == "BLOB":
            return int(text) if text.lstrip("-").isdigit() else text
        return text  # the column's affinity converts it

    def key_condition(self, key: Mapping[str, str], keys: Sequence[Sequence[str]]) -> tuple[str, list[Any]]:
        condition, values = super().key_condition(key, keys)
        return (condition.replace(" IN (", " IN (VALUES ", 1) if len(key) > 1 else condition), values

    def quote(self, name: str) -> str:
        # Not in double quotes: SQLite reads an unknown name in those as a string.
        return "`" + name.replace("`", "``") + "`"

    def quote_table(self, table: str) -> str:
        return self.quote(table)

    def column_type(self, kind: str, in_key: bool) -> str:
        if kind in _INTEGERS:
            return "INTEGER"
        return "NUMERIC" if kind.startswith("decimal") else _TYPES.get(kind, "TEXT")

    def accepts(self, kind: str, declared: str) -> bool:
        own, existing = self.column_type(kind, False), affinity(declared)
        if existing == "NUMERIC":
            return own in ("INTEGER", "REAL", "NUMERIC") or (own == "TEXT" and _is_time(declared))
        return own == existing or not declared

    def has_unique_key(self, session: Session, table: str, key: Sequence[str]) -> bool:
        return True  # rows are replaced by DELETE and INSERT, which need no index

    def upsert(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        target, key = self.quote(table.name), self.quote_all(table.key)
        statements = [f"DELETE FROM {target} WHERE ({key}) IN (SELECT {key} FROM ({staged}) s)"]
        if null_keys:  # `IN` finds no nulls
            same = self.same_key(table.key, "IS")
            rows = f"SELECT 1 FROM ({staged}) s WHERE ({self.has_null_key(table.key)}) AND {same}"
            statements.append(f"DELETE FROM {target} AS t WHERE EXISTS ({rows})")
        return [*statements, self.insert_last(table, staged)]

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if not isinstance(error, sqlite3.Error | OSError):
            return None
        return str(error), next((hint for word, hint in _HINTS.items() if word in str(error)), "")

    def is_unavailable(self, error: Exception) -> bool:
        return False


class FileSession:
    """A connection of a sink; used by several threads, one at a time."""

    def __init__(self, path: Path, mode: str = "rwc") -> None:
        self.connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}",
            uri=True,
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self.connection.execute(_placeholders(statement, values), values).rowcount

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(_placeholders(query, values), values)
        return [tuple(map(_text, row)) for row in cursor]

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        raise NotImplementedError("SQLite stages rows on the driver")

    def close(self) -> None:
        self.connection.close()


class _ReadSession(FileSession):
    """A session of a source, which opens the file for each query: the file may be replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with closing(FileSession(self._path, "ro")) as session:
            return session.rows(query, values)

    def close(self) -> None:
        """Do nothing: no file stays open."""


def affinity(declared: str) -> str:
    """Return the affinity of a declared type, by the rules of SQLite's documentation in their order.

    >>> affinity("VARCHAR(20)"), affinity("BIGINT"), affinity("DATETIME")
    ('TEXT', 'INTEGER', 'NUMERIC')
    """
    upper = declared.upper()
    for words, result in (
        (("INT",), "INTEGER"),
        (("CHAR", "CLOB", "TEXT"), "TEXT"),
        (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "REAL"),
    ):
        if any(word in upper for word in words):
            return result
    return "NUMERIC" if upper else "BLOB"


def _is_time(declared: str) -> bool:
    return affinity(declared) == "NUMERIC" and any(word in declared.upper() for word in ("DATE", "TIME"))


def _placeholders(query: str, values: Sequence[Any]) -> str:
    """Replace `%s` by SQLite's placeholder, and `%%` by a percent sign, in a query with parameters."""
    return re.sub("%([%s])", lambda match: "?" if match[1] == "s" else "%", query) if values else query


def _text(value: Any) -> str | None:
    """Return a value as text; exact for floats, unlike SQLite's own conversion."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
