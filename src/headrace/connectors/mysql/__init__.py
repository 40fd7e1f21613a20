"""A table in a MySQL or MariaDB database.

*Sink*: exactly once. Executors load their rows with LOAD DATA into a staging table; one transaction brings them into
the target together with the ledger row, fenced against older runs. *Table*: for lookups, read once when the run starts.
*Source*: replayable; a table that only grows is followed by a column that grows with every row.
"""

from __future__ import annotations

from typing import ClassVar

from headrace.connectors.base import Writer
from headrace.connectors.sql.dialect import Dialect
from headrace.connectors.sql.options import ServerTable


class MySQL(ServerTable):
    """A table of a MySQL or MariaDB database; it is made if there is none, and checked against the stream if there is.

    With a `key` there is one row for each key: a newer row overwrites it, a retraction deletes it; `window` in the key
    stands for the window's columns. Without one every row is appended, retractions too (`pane_retraction` tells them).
    Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`; timestamps are `datetime(6)` in UTC;
    arrays, maps and other structs are JSON text; text of a key holds up to 255 characters. The target must be InnoDB,
    and the server must allow `local_infile` (MariaDB does, MySQL wants `SET GLOBAL local_infile = 1`). Needs the extra
    `mysql`.

    As a source it is followed by a column that grows, `cursor="id"`: updates and deletes aren't seen, nor rows that become
    visible more than `delay` after others with higher values.

    >>> MySQL(url="mysql://ada:secret@db/shop", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "mysql"
    schemes: ClassVar[tuple[str, ...]] = ("mysql", "mariadb")

    def dialect(self) -> Dialect:
        from headrace.connectors.mysql.dialect import MySQLDialect

        return MySQLDialect(self.url)

    def writer(self) -> Writer:
        from headrace.connectors.mysql.dialect import MySQLDialect
        from headrace.connectors.sql.sink import TableWriter

        return TableWriter(MySQLDialect(self.url, writes=True), self.table, self.key, self._waited())
