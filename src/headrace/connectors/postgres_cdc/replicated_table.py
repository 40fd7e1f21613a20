"""The table of a CDC source: its description, and checks that it allows logical replication."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.postgres_cdc.slot import SlotDialect
from headrace.connectors.sql.columns import existing_columns, select_columns, source_errors
from headrace.connectors.sql.dialect import Session
from headrace.errors import SourceError

if TYPE_CHECKING:
    from headrace.connectors.postgres_cdc import PostgresCdc

_IDENTITY = """
    SELECT n.nspname, c.relname, c.relreplident::text,
           coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_index i
                     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                     WHERE i.indrelid = c.oid AND i.indisprimary), '{}')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"""


@dataclass(frozen=True)
class ReplicatedTable:
    """A table and the options of its source; holds no connection."""

    options: PostgresCdc = field(repr=False)
    context: ReadContext
    schema: str
    table: str
    slot: str
    columns: dict[str, str]
    """The columns to read, with their declared types."""
    key: tuple[str, ...]
    """The primary key."""

    @property
    def publication(self) -> str:
        return self.options.publication or self.slot

    @property
    def dialect(self) -> SlotDialect:
        return SlotDialect(self.options.url)

    @property
    def target(self) -> str:
        """The quoted name of the table."""
        return self.dialect.quote_table(f"{self.schema}.{self.table}")

    @property
    def select_list(self) -> str:
        """The SQL of all columns as text."""
        return ", ".join(self.dialect.as_text(name, declared) for name, declared in self.columns.items())


def describe_table(
    options: PostgresCdc, context: ReadContext, slot: str
) -> tuple[ReplicatedTable, dict[str, str]]:
    """Return the table, and the columns of the source with their Spark types.

    Raises:
        SourceError: server, user or table do not allow replication; the hint is the statement that corrects
        it.
    """
    dialect = SlotDialect(options.url)
    reads = f"the changes of `{options.table}`"
    with source_errors(dialect, reads, where=context.source), closing(dialect.connect()) as session:
        return _describe(dialect, session, options, context, slot)


def _describe(
    dialect: SlotDialect, session: Session, options: PostgresCdc, context: ReadContext, slot: str
) -> tuple[ReplicatedTable, dict[str, str]]:
    _check_server(session, dialect, context.source)
    columns = existing_columns(dialect, session, options.table, where=context.source)
    [[schema, name, identity, key]] = session.rows(_IDENTITY, (dialect.quote_table(options.table),))
    _check_identity(options.table, identity, key, context.source)
    types = select_columns(dialect, options.table, columns, context.schema, where=context.source)
    selected = {column: columns[column] for column in types}
    return ReplicatedTable(options, context, schema, name, slot, selected, tuple(key)), types


def _check_server(session: Session, dialect: SlotDialect, where: str) -> None:
    [[level]] = session.rows("SHOW wal_level")
    if level != "logical":
        raise SourceError(
            f"the server at {dialect.address} runs with wal_level = {level}; CDC needs logical",
            where=where,
            hint="ALTER SYSTEM SET wal_level = logical, and restart the server",
        )
    [[user, allowed]] = session.rows(
        "SELECT rolname, rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"
    )
    if not allowed:
        raise SourceError(
            f"the user `{user}` may not read the server's log of changes",
            where=where,
            hint=f"ALTER ROLE {dialect.quote(user)} REPLICATION",
        )


def _check_identity(table: str, identity: str, key: list[str], where: str) -> None:
    """Raise an error without a replica identity: the server would reject all updates of a published table."""
    if identity == "n" or (identity == "d" and not key):
        raise SourceError(
            f"the table `{table}` has no primary key, which identifies the row of an update or delete",
            where=where,
            hint=f"give it a primary key, or ALTER TABLE {table} REPLICA IDENTITY FULL",
        )
