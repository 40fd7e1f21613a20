"""The columns of an existing table that a source reads."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from headrace.connectors.retry import server_errors
from headrace.connectors.sql.dialect import Dialect, Session
from headrace.errors import SourceError, did_you_mean
from headrace.schemas.fields import Schema


def source_errors(dialect: Dialect, reads: str, *, where: str) -> AbstractContextManager[None]:
    """Raise errors of the database as `SourceError`; `reads` is the object that is read."""
    action = f"{reads} at {dialect.address} cannot be read: "
    return server_errors(dialect, SourceError, action, where=where)


def existing_columns(dialect: Dialect, session: Session, table: str, *, where: str) -> dict[str, str]:
    """Return the columns of a table with their declared types.

    Raises:
        SourceError: there is no such table.
    """
    columns = dialect.columns(session, table)
    if not columns:
        raise SourceError(
            f"unknown table `{table}` at {dialect.address}",
            where=where,
            hint=did_you_mean(table, [name for name in dialect.tables(session) if name[:1] != "_"]),
        )
    return {name: declared for name, (declared, _) in columns.items()}


def select_columns(
    dialect: Dialect,
    table: str,
    columns: dict[str, str],
    schema: Schema | None,
    *,
    required: Iterable[str] = (),
    where: str,
) -> dict[str, str]:
    """Return the columns to read, with their Spark types: those of the schema or, without one, all.

    Raises:
        SourceError: the schema or `required` names a column that the table lacks.
    """
    fields = schema.fields if schema is not None else ()
    for name in (*(column.name for column in fields), *required):
        if name not in columns:
            what = f"the table `{table}` has no column `{name}`"
            raise SourceError(what, where=where, hint=did_you_mean(name, columns))
    if fields:
        return {column.name: str(column.type) for column in fields}
    return {
        name: dialect.spark_type(declared)
        for name, declared in columns.items()
        if name not in dialect.hidden_columns
    }


def cast_text(value: str, kind: str, wanted: str) -> str:
    """Return the SQL that casts text from the database, of a Spark type `kind`, to the wanted type."""
    return f"cast({f'unhex({value})' if kind == 'binary' else value} as {wanted})"
