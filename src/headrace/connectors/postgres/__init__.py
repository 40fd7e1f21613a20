"""A table in a PostgreSQL database.

*Sink*: exactly once. Tasks load their rows with COPY into a staging table; one transaction writes them to the
target together with the ledger row, fenced against older runs. *Table*: for lookups, read once when the run
starts. *Source*: replayable; new rows of an append-only table are read by a cursor column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.connectors.sql.options import ServerTable

if TYPE_CHECKING:
    from headrace.connectors.postgres.dialect import PostgresDialect


class Postgres(ServerTable):
    """A table of a PostgreSQL database; a sink creates it, or checks an existing one.

    With a `key` there is one row per key: a newer row overwrites it, a retraction deletes it; `window` in the
    key stands for the window's columns. Without one every row is appended, including retractions (marked by
    `pane_retraction`). Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`;
    timestamps are `timestamptz`; arrays, maps and other structs are `jsonb`. The user needs the right to
    create tables in its own schema, for staging tables and the ledger (`_headrace_*`). The URL may also be in
    libpq's form, `host=db dbname=shop`. Needs the extra `postgres`.

    As a source it reads new rows by a cursor column, `cursor="id"`. It does not see updates, deletes, or rows
    that become visible more than `delay` after others with higher values.

    >>> Postgres(url="postgresql://ada:secret@db/shop", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "postgres"
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    accepts_dsn: ClassVar[bool] = True

    def dialect(self, *, writes: bool = False) -> PostgresDialect:
        from headrace.connectors.postgres.dialect import PostgresDialect

        return PostgresDialect(self.url)
