"""Change data capture (CDC) from a PostgreSQL table: every insert, update and delete, by logical replication.

*Source*: replayable. The existing rows come first, then the changes, transaction by transaction, each exactly
once. A *replication slot* on the server stores the confirmed position. It advances only after every sink has
committed the epoch; until then the server keeps its write-ahead log. A run that was killed resumes at the
right position.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.connectors.base import Carries, Reader, Role
from headrace.connectors.options import DurationOption
from headrace.connectors.sql.options import ServerAddress

_NAME = r"[a-z0-9_]{1,63}"


class PostgresCdc(ServerAddress):
    """Every change of one table, by logical replication.

    A row has the columns of the schema, as they are after the change (for a deleted row, as they were: all of
    them with `REPLICA IDENTITY FULL`, else the key), and `change struct<op string, lsn bigint, at
    timestamp>`: `op` is `snapshot` (a row that existed at the start), `insert`, `update` or `delete`, `lsn`
    the position after its transaction, `at` its commit time. An update of the primary key is a `delete` of
    the old key and an `insert` of the new one. Transactions are never split: an epoch has all rows of one, or
    none. A database sink with a `key` applies the changes, deletes too.

    The server must run with `wal_level = logical`, the user needs the attribute REPLICATION, and the table a
    primary key or `REPLICA IDENTITY FULL`. Slot and publication are created if they do not exist. **A slot
    without a reader keeps the server's log forever**: when the pipeline is retired, `select
    pg_drop_replication_slot('...')`. Needs the extra `postgres`.

    >>> PostgresCdc(url="postgresql://ada:secret@db/shop", table="orders").snapshot
    'first'
    """

    kind: ClassVar[str] = "postgres_cdc"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    accepts_dsn: ClassVar[bool] = True
    replayable: ClassVar[bool] = True
    concurrent_readers: ClassVar[bool] = False
    carries: ClassVar[Carries] = "rows"
    captures_changes: ClassVar[bool] = True

    table: str = Field(
        min_length=1, description="The table's name, with or without its schema: `shop.orders`"
    )
    slot: str | None = Field(
        default=None,
        pattern=f"^{_NAME}$",
        description="The replication slot; default: `headrace_<pipeline>_<source>`",
    )
    publication: str | None = Field(
        default=None, min_length=1, description="The publication; default: the name of the slot"
    )
    snapshot: Literal["first", "never"] = Field(
        default="first",
        description="Whether a new checkpoint begins with the existing rows, or with the changes from now on",
    )
    before: str | None = Field(
        default=None,
        min_length=1,
        description="The name of a struct column for the row before an update or delete; without "
        "`REPLICA IDENTITY FULL` only its key is known",
    )
    truncate: Literal["fail", "skip"] = Field(
        default="fail", description="The reaction to TRUNCATE, which names no rows"
    )
    every: DurationOption = Field(
        default="500 milliseconds", description="How often the server is polled for changes"
    )
    max_per_batch: int = Field(
        default=100_000,
        ge=1,
        description="The approximate number of changes per epoch; a transaction is never split",
    )

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"table `{self.table}`")

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        return ("change",) if self.before is None else ("change", self.before)

    def reader(self) -> Reader:
        from headrace.connectors.postgres_cdc.source import CdcReader

        return CdcReader(self)
