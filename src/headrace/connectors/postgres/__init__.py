"""A table in a PostgreSQL database.

*Sink*: exactly once. Executors load their rows with COPY into a staging table; one transaction, which begins while they
load, brings them into the target together with the ledger row, fenced against older runs. *Table*: for lookups, read once when the run starts.
*Source*: replayable; a table that only grows is followed by a column that grows with every row.
"""

from __future__ import annotations

from typing import ClassVar

from headrace.connectors.sql.dialect import Dialect
from headrace.connectors.sql.options import ServerTable


class Postgres(ServerTable):
    """A table of a PostgreSQL database; it is made if there is none, and checked against the stream if there is.

    With a `key` there is one row for each key: a newer row overwrites it, a retraction deletes it; `window` in the key
    stands for the window's columns. Without one every row is appended, retractions too (`pane_retraction` tells them).
    Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`; timestamps are `timestamptz`; arrays,
    maps and other structs are `jsonb`. The user needs the right to create tables in its own schema: staging tables and
    the ledger (`_headrace_*`) are kept there. The URL may also be in the client library's own form, `host=db
    dbname=shop`. Needs the extra `postgres`.

    As a source it is followed by a column that grows, `cursor="id"`: updates and deletes aren't seen, nor rows that become
    visible more than `delay` after others with higher values.

    >>> Postgres(url="postgresql://ada:secret@db/shop", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "postgres"
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    other_addresses: ClassVar[bool] = True

    def dialect(self) -> Dialect:
        from headrace.connectors.postgres.dialect import PostgresDialect

        return PostgresDialect(self.url)
