"""What a stream's table looks like in SQLite: made for the stream, or checked against it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

from headrace.connectors.sql.tables import Column, Table
from headrace.errors import DeliveryError

_TYPES = {"double": "REAL", "float": "REAL", "binary": "BLOB"}
_DIGITS, _PAST_INTEGERS = 15, 2**63
_ALL_DIGITS = Context(prec=38)
_INTEGERS = ("bigint", "int", "smallint", "tinyint", "boolean")


def declared(kind: str, in_key: bool) -> str:
    """SQLite's type for one of Spark's; the same in a key."""
    if kind in _INTEGERS:
        return "INTEGER"
    return "NUMERIC" if kind.startswith("decimal") else _TYPES.get(kind, "TEXT")


def exact(text: str | None, column: str, *, where: str) -> int | str | None:
    """A decimal as SQLite keeps it: a whole number, or a float, which is exact up to 15 digits.

    >>> exact("12345678901234567.00", "n", where="out"), exact("0.10", "n", where="out")
    (12345678901234567, '0.10')

    Raises:
        DeliveryError: it would be rounded.
    """
    if text is None:
        return None
    value = Decimal(text)
    if value == value.to_integral_value() and abs(value) < _PAST_INTEGERS:
        return int(value)
    if len(value.normalize(_ALL_DIGITS).as_tuple().digits) <= _DIGITS:
        return text
    raise DeliveryError(
        f"SQLite would round {text} in `{column}`: it keeps {_DIGITS} digits of a fraction",
        where=where,
        hint=f"in a select, cast({column} as string) keeps all digits, cast({column} as double) rounds",
    )


class SQLiteTable(Table):
    """The table a sink writes, with SQLite's statements for it."""

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


def _fits(ours: str, declared: str) -> bool:
    theirs = affinity(declared)
    if theirs == "NUMERIC":
        timely = "DATE" in declared.upper() or "TIME" in declared.upper()
        return ours in ("INTEGER", "REAL", "NUMERIC") or (ours == "TEXT" and timely)
    return ours == theirs or not declared


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))
