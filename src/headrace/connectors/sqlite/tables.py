"""What a stream's table looks like in SQLite: made for the stream, or checked against it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors import flat
from headrace.errors import DeliveryError, did_you_mean

_TYPES = {"double": "REAL", "float": "REAL", "binary": "BLOB"}
_INTEGERS = ("long", "integer", "short", "byte", "boolean")
RETRACTION = "pane_retraction"


@dataclass(frozen=True)
class Column:
    """A column of the stream: what Spark calls its type, and what SQLite does."""

    name: str
    kind: str
    declared: str


@dataclass(frozen=True)
class Table:
    """The table a sink writes: its name, columns and key."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @classmethod
    def of(cls, name: str, schema: dict[str, Any], key: Sequence[str], *, where: str) -> Table:
        """The table for a stream, from Spark's JSON form of its schema.

        Raises:
            DeliveryError: the key names a column that the stream lacks.
        """
        columns = [_column(column, kind) for column, _, kind in flat.columns(schema)]
        names = [column.name for column in columns]
        spread = tuple(part for word in key for part in _spread(word, names))
        for word in spread:
            if word not in names:
                hint = did_you_mean(word, [c["name"] for c in schema["fields"]])
                raise DeliveryError(f"there is no column `{word}` for the key", where=where, hint=hint)
        return cls(name, tuple(c for c in columns if not (key and c.name == RETRACTION)), spread)

    @property
    def create(self) -> str:
        """The statement that makes it."""
        parts = [f"{quoted(column.name)} {column.declared}" for column in self.columns]
        if self.key:
            # Not PRIMARY KEY: a single INTEGER one would turn a null key into a number.
            parts.append(f"UNIQUE ({_listed(self.key)})")
        return f"CREATE TABLE {quoted(self.name)} ({', '.join(parts)})"

    @property
    def insert(self) -> str:
        marks = ", ".join("?" * len(self.columns))
        names = _listed(column.name for column in self.columns)
        return f"INSERT INTO {quoted(self.name)} ({names}) VALUES ({marks})"

    @property
    def delete(self) -> str:
        """Deletes one key. `IS`, because a null key is a key."""
        return f"DELETE FROM {quoted(self.name)} WHERE {' AND '.join(f'{quoted(k)} IS ?' for k in self.key)}"

    def ensure(self, database: sqlite3.Connection, *, where: str) -> None:
        """Make the table, or check the one there is.

        Raises:
            DeliveryError: a column is missing or has another type; both types are named.
        """
        there = {row[1]: row for row in database.execute(f"PRAGMA table_info({quoted(self.name)})")}
        if not there:
            database.execute(self.create)
            return
        for column in self.columns:
            self._check(column, there.get(column.name), where)
        ours = {column.name for column in self.columns}
        for name, row in there.items():
            if name not in ours and row[3] and row[4] is None:
                what = f"the table `{self.name}` demands a value in `{name}`, which the stream lacks"
                raise DeliveryError(
                    what, where=where, hint="add the column to the stream, or allow null there"
                )

    def _check(self, column: Column, row: Any, where: str) -> None:
        ours = f"{column.kind} ({column.declared})"
        if row is None:
            raise DeliveryError(
                f"the table `{self.name}` has no column `{column.name}`; the stream has it as {ours}",
                where=where,
                hint=f"ALTER TABLE {quoted(self.name)} ADD COLUMN {quoted(column.name)} {column.declared}",
            )
        if not _fits(column.declared, row[2]):
            raise DeliveryError(
                f"column `{column.name}` is {row[2]} in the table `{self.name}` and {ours} in the stream",
                where=where,
                hint="cast it in a select, or write to another table",
            )


def affinity(declared: str) -> str:
    """How SQLite treats a declared type: the rules of its documentation, in their order.

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


def quoted(name: str) -> str:
    """The name as SQL reads it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _column(name: str, kind: Any) -> Column:
    if not isinstance(kind, str):
        return Column(name, kind["type"], "TEXT")
    if kind in _INTEGERS:
        return Column(name, {"long": "bigint", "integer": "int"}.get(kind, kind), "INTEGER")
    return Column(name, kind, "NUMERIC" if kind.startswith("decimal") else _TYPES.get(kind, "TEXT"))


def _fits(ours: str, declared: str) -> bool:
    theirs = affinity(declared)
    if theirs == "NUMERIC":
        timely = "DATE" in declared.upper() or "TIME" in declared.upper()
        return ours in ("INTEGER", "REAL", "NUMERIC") or (ours == "TEXT" and timely)
    return ours == theirs or not declared


def _spread(word: str, names: Sequence[str]) -> tuple[str, ...]:
    """`window` in a key: the number where windows are numbered (their bounds still move), else start and end."""
    if word != "window" or word in names:
        return (word,)
    return ("window_number",) if "window_number" in names else ("window_start", "window_end")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))
