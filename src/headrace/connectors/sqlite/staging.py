"""Stages rows for SQLite on the driver, where the database file is."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten
from headrace.connectors.sql.dialect import SEQUENCE, STAGING, Session
from headrace.connectors.sql.staging import StagedTable
from headrace.connectors.sql.table import Table
from headrace.connectors.sqlite.dialect import FileSession, SQLiteDialect
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

_BATCH_ROWS = 10_000
_FLOAT_DIGITS, _INTEGER_LIMIT = 15, 2**63
_ALL_DIGITS = Context(prec=38)


class DriverStaging:
    """Collects an epoch on the driver, and loads it into a temporary table inside the commit transaction."""

    def __init__(self, dialect: SQLiteDialect) -> None:
        self._dialect = dialect

    def open(self, session: Session, prefix: str, token: int) -> None:
        """Do nothing: a crash leaves no rows."""

    def prepare(self, session: Session, table: Table) -> None:
        """Do nothing: the temporary table is created by `select`."""

    def load(self, frame: DataFrame, table: Table) -> StagedTable:
        rows = frame.selectExpr(*flatten.expressions(frame.schema.jsonValue(), text=True)).toArrow()
        return StagedTable(table, rows.num_rows, rows.select(list(table.stage_columns)))

    def select(self, session: Session, staged: StagedTable) -> str:
        if not isinstance(session, FileSession):
            raise TypeError("expected a session of SQLite")
        self.clear(session)
        types = (
            f"{self._dialect.quote(name)} {self._dialect.column_type(kind, False)}"
            for name, kind in staged.table.stage_columns.items()
        )
        session.execute(f"CREATE TEMP TABLE {STAGING} ({SEQUENCE} INTEGER PRIMARY KEY, {', '.join(types)})")
        marks = ", ".join("?" * len(staged.table.stage_columns))
        for batch in staged.content.to_batches(_BATCH_ROWS):
            rows = zip(*_values(staged.table, batch), strict=True)
            session.connection.executemany(f"INSERT INTO {STAGING} VALUES (NULL, {marks})", rows)
        return f"SELECT * FROM {STAGING}"

    def clear(self, session: Session) -> None:
        session.execute(f"DROP TABLE IF EXISTS temp.{STAGING}")

    def close(self, session: Session) -> None:
        """Do nothing: the temporary table ends with the connection."""


def _values(table: Table, batch: pyarrow.RecordBatch) -> Iterator[list[Any]]:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        values = column.to_pylist()
        decimal = table.stage_columns[name].startswith("decimal")
        yield [exact(value, name) for value in values] if decimal else values


def exact(text: str | None, column: str) -> int | str | None:
    """Return a decimal as SQLite stores it: an integer, or a float, which is exact up to 15 digits.

    >>> exact("12345678901234567.00", "n"), exact("0.10", "n")
    (12345678901234567, '0.10')

    Raises:
        DeliveryError: SQLite would round the value.
    """
    if text is None:
        return None
    value = Decimal(text)
    if value == value.to_integral_value() and abs(value) < _INTEGER_LIMIT:
        return int(value)
    if len(value.normalize(_ALL_DIGITS).as_tuple().digits) <= _FLOAT_DIGITS:
        return text
    raise DeliveryError(
        f"SQLite would round {text} in `{column}`: it stores {_FLOAT_DIGITS} digits of a fraction",
        hint=f"in a select, cast({column} as string) keeps all digits, cast({column} as double) rounds",
    )
