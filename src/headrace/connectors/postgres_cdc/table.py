"""The table before it is followed: whether server, user and table allow it, and what its columns are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from headrace import durations
from headrace.connectors.base import ReadContext
from headrace.connectors.postgres_cdc.slot import Followed, SlotDialect
from headrace.connectors.sql.dialect import Database, qualified
from headrace.errors import SourceError, did_you_mean

if TYPE_CHECKING:
    from headrace.connectors.postgres_cdc import PostgresCdc

_IDENTITY = """
    SELECT n.nspname, c.relname, c.relreplident::text,
           coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_index i
                     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                     WHERE i.indrelid = c.oid AND i.indisprimary), '{}')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"""


def looked_at(
    options: PostgresCdc, context: ReadContext, slot: str
) -> tuple[Followed, dict[str, str], dict[str, str]]:
    """What following the table needs; the types of its columns in Spark, and those that are wanted.

    Raises:
        SourceError: server, user or table don't allow it; the hint is the statement that mends it.
    """
    dialect = SlotDialect(options.url)
    try:
        with closing(dialect.connect()) as database:
            return _followed(dialect, database, options, context, slot)
    except Exception as error:
        told = dialect.told(error)
        if told is None:
            raise
        what = f"the changes of `{options.table}` at {dialect.place} can't be read: {told[0]}"
        raise SourceError(what, where=context.source, hint=told[1]) from error


def _followed(
    dialect: SlotDialect, database: Database, options: PostgresCdc, context: ReadContext, slot: str
) -> tuple[Followed, dict[str, str], dict[str, str]]:
    _check_server(database, dialect, context.source)
    there = dialect.columns(database, options.table)
    found = database.rows(_IDENTITY, (qualified(dialect, options.table),))
    if not there or not found:
        what = f"there is no table `{options.table}` at {dialect.place}"
        hint = "name one that is there, with its schema if it isn't in the user's own"
        raise SourceError(what, where=context.source, hint=hint)
    schema, table, identity, key = found[0]
    _check_identity(options.table, identity, key, context.source)
    kinds = {name: dialect.spark_type(declared) for name, (declared, _) in there.items()}
    fields = context.schema.fields if context.schema is not None else ()
    for name in (column.name for column in fields):
        if name not in there:
            what = f"the table `{options.table}` has no column `{name}`"
            raise SourceError(what, where=context.source, hint=did_you_mean(name, list(there)))
    wanted = {column.name: str(column.type) for column in fields} or kinds
    followed = Followed(
        source=context.source,
        url=options.url,
        schema=schema,
        table=table,
        slot=slot,
        publication=options.publication or slot,
        columns=tuple((name, kinds[name] == "binary") for name in wanted),
        key=tuple(key),
        snapshot=options.snapshot == "first",
        before=options.before is not None,
        skip_truncate=options.truncate == "skip",
        every=durations.microseconds(options.every) / 1e6,
        most=options.max_per_batch,
        patience=options.waits,
        directory=context.directory,
    )
    return followed, kinds, wanted


def _check_server(database: Database, dialect: SlotDialect, where: str) -> None:
    [[level]] = database.rows("SHOW wal_level")
    if level != "logical":
        raise SourceError(
            f"the server at {dialect.place} runs with wal_level = {level}, which doesn't log the changes of rows",
            where=where,
            hint="ALTER SYSTEM SET wal_level = logical, and restart the server",
        )
    [[user, able]] = database.rows(
        "SELECT rolname, rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"
    )
    if not able:
        raise SourceError(
            f"the user `{user}` may not read the server's log of changes",
            where=where,
            hint=f"ALTER ROLE {dialect.quoted(user)} REPLICATION",
        )


def _check_identity(table: str, identity: str, key: list[str], where: str) -> None:
    """Without an identity the server would refuse every update and delete of a published table to everybody."""
    if identity == "n" or (identity == "d" and not key):
        raise SourceError(
            f"the table `{table}` has no primary key, so an update or delete couldn't say of which row",
            where=where,
            hint=f"give it a primary key, or ALTER TABLE {table} REPLICA IDENTITY FULL",
        )
