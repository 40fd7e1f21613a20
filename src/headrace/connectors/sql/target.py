"""The target table of a sink: created for the stream, or checked against it."""

from __future__ import annotations

from headrace.connectors.sql.dialect import Dialect, Session
from headrace.connectors.sql.table import Column, Table
from headrace.errors import DeliveryError


def create_once(dialect: Dialect, session: Session, statement: str) -> None:
    """Create a table that another run may create at the same moment."""
    try:
        session.execute(statement)
    except Exception as error:
        if dialect.translate_error(error) is None or dialect.is_unavailable(error):
            raise
        session.execute(statement)


def ensure_table(dialect: Dialect, session: Session, table: Table, *, where: str) -> None:
    """Create the target, or check that the existing table can store the stream.

    Raises:
        DeliveryError: a column is missing or has another type, or the key is not unique.
    """
    existing = dialect.columns(session, table.name)
    if not existing:
        create_once(dialect, session, dialect.create_table(table))
        return
    for column in table.columns:
        _check_column(dialect, table, column, existing, where)
    for name, (_, required) in existing.items():
        if required and name not in table.names:
            raise DeliveryError(
                f"the table `{table.name}` requires a value in `{name}`, which the stream lacks",
                where=where,
                hint="add the column to the stream, or give it a default in the table",
            )
    if table.key and not dialect.has_unique_key(session, table.name, table.key):
        key = dialect.quote_all(table.key)
        raise DeliveryError(
            f"the key ({key}) is not unique in the table `{table.name}`",
            where=where,
            hint=f"ALTER TABLE {table.name} ADD UNIQUE ({key}), or name another key",
        )


def _check_column(
    dialect: Dialect, table: Table, column: Column, existing: dict[str, tuple[str, bool]], where: str
) -> None:
    if column.name not in existing:
        raise DeliveryError(
            f"the table `{table.name}` has no column `{column.name}`; the stream has it as {column.kind}",
            where=where,
            hint=f"ALTER TABLE {table.name} ADD COLUMN {dialect.quote(column.name)} {column.declared}",
        )
    declared, _ = existing[column.name]
    if not dialect.accepts(column.kind, declared):
        raise DeliveryError(
            f"column `{column.name}` is {declared} in the table `{table.name}`"
            f" and {column.kind} in the stream",
            where=where,
            hint="cast it in a select, or write to another table",
        )
