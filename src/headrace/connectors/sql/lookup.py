"""Reads rows of a database table by key: one query for the distinct keys of an Arrow batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from headrace.connectors.lookups import Key, LookupContext, Values
from headrace.connectors.sql.columns import cast_text, existing_columns, select_columns, source_errors
from headrace.connectors.sql.dialect import Dialect, Session

_KEYS_PER_QUERY = 5_000
"""Bounds the length of a statement; SQLite accepts 32,766 parameters."""


@dataclass(frozen=True)
class SqlKeyTable:
    """A table that is read by its key columns; an index on them makes it fast."""

    dialect: Dialect
    table: str
    key: Mapping[str, str]
    """The key columns with their declared types."""
    selected: Mapping[str, str]
    """The other columns with their declared types."""
    columns: Mapping[str, str]
    retry_timeout: float

    @property
    def address(self) -> str:
        return f"the table `{self.table}` at {self.dialect.address}"

    def connect(self) -> SqlKeyReader:
        return SqlKeyReader(self, self.dialect.connect())

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        return self.dialect.translate_error(error)

    def is_unavailable(self, error: Exception) -> bool:
        return self.dialect.is_unavailable(error)

    def query(self, keys: Sequence[Key]) -> tuple[str, list[object]]:
        """Return the query for these keys and its parameters; the key columns come first, as text."""
        texts = (self.dialect.as_text(name, kind) for name, kind in {**self.key, **self.selected}.items())
        condition, values = self.dialect.key_condition(self.key, keys)
        select = f"SELECT {', '.join(texts)} FROM {self.dialect.quote_table(self.table)} t"
        return f"{select.replace('%', '%%')} WHERE {condition}", values


class SqlKeyReader:
    """A connection that reads rows by key."""

    def __init__(self, table: SqlKeyTable, session: Session) -> None:
        self._table, self._session = table, session

    def rows(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        by_key: dict[Key, list[Values]] = {}
        width = len(self._table.key)
        for part in _chunks(keys):
            for row in self._session.rows(*self._table.query(part)):
                # A database may compare text without case or trailing spaces; a key must be equal.
                by_key.setdefault((*map(str, row[:width]),), []).append(row[width:])
        return by_key

    def close(self) -> None:
        self._session.close()


def describe_table(
    dialect: Dialect, table: str, context: LookupContext, *, retry_timeout: float
) -> SqlKeyTable:
    """Return a table with the columns of the schema or, without one, all columns.

    Raises:
        SourceError: the table or a column does not exist, or the server refuses the connection.
    """
    reads = f"the table `{table}`"
    with source_errors(dialect, reads, where=context.step), closing(dialect.connect()) as session:
        declared = existing_columns(dialect, session, table, where=context.step)
        types = select_columns(
            dialect, table, declared, context.schema, required=context.on, where=context.step
        )
    added = [name for name in types if name not in context.on]
    casts = {name: cast_text("{}", dialect.spark_type(declared[name]), types[name]) for name in added}
    key = {name: declared[name] for name in context.on}
    return SqlKeyTable(dialect, table, key, {name: declared[name] for name in added}, casts, retry_timeout)


def _chunks(keys: Sequence[Key]) -> Iterable[Sequence[Key]]:
    return (keys[first : first + _KEYS_PER_QUERY] for first in range(0, len(keys), _KEYS_PER_QUERY))
